"""What the composition root does by itself."""

import re
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


def settings_in(folder):
    text = EXAMPLE.read_text()
    text = text.replace("[service]\n", f'[service]\nstate_dir = "{folder}/state"\n')
    for key, name in (("blobs_dir", "blobs"), ("hosts_dir", "hosts"), ("tftp_dir", "tftp")):
        text = re.sub(rf"^{key} = .*$", f'{key} = "{folder}/{name}"', text, flags=re.M)
    return load(text, folder)


def test_only_an_image_s_own_folder_is_deleted(tmp_path):
    settings = settings_in(tmp_path)
    folder = settings.provisioning.blobs_dir / "images" / "tiny"
    folder.mkdir(parents=True)
    (folder / "image.raw").touch()
    for other in (tmp_path, folder.parent, folder / "x", Path("/"), Path()):
        with pytest.raises(InputError) as told:
            callbacks().images.remove_image(settings, other)
        assert told.value.code is ErrorCode.FILE_UNREADABLE
    callbacks().images.remove_image(settings, folder)
    assert list(folder.parent.iterdir()) == []
