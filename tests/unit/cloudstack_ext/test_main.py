"""What the composition root does by itself."""

from pathlib import Path

import pytest

from cloudstack_ext.main import callbacks
from provisioner.config import load
from provisioner.errors import ErrorCode, InputError

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "rackwright.toml"


@pytest.mark.parametrize("source", ["/no/such/image.raw", "https://example.org/image.raw"])
def test_an_image_that_is_no_file_is_said_to_be(source):
    settings = load(EXAMPLE.read_text(), EXAMPLE.parent)
    with pytest.raises(InputError) as told:
        callbacks().images.import_image(settings, Path(source), "tiny", lambda *_: None)
    assert told.value.code is ErrorCode.FILE_UNREADABLE
    assert "No such file" in told.value.brief
