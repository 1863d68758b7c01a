"""The beginning of an installation: once, whole, and again only where it failed."""

import pytest

from cloudstack_ext.main import callbacks
from provisioner.errors import ConflictError
from tests.unit.cloudstack_ext.test_main import settings_in

pytestmark = pytest.mark.emulated


def test_a_second_beginning_is_refused_and_one_that_failed_can_be_repeated(tmp_path):
    settings = settings_in(tmp_path)
    (tmp_path / "tftp").touch()  # no folder can be made there
    with pytest.raises(OSError, match="tftp"):
        callbacks().service.initialise(settings)
    left = {each.name for each in settings.service.state_dir.iterdir() if each.is_file()}
    assert left <= {"rackwright.db.lock"}
    (tmp_path / "tftp").unlink()
    made = callbacks().service.initialise(settings)
    with pytest.raises(ConflictError, match="rackwright serve` starts it"):
        callbacks().service.initialise(settings)
    settings.files().database.unlink()
    settings.files().marker.unlink()
    with pytest.raises(ConflictError, match="needs another state_dir"):
        callbacks().service.initialise(settings)
    assert all(each.exists() for each in made.files if each != settings.files().database)
