import pytest

from tests.unit.cli.rig import Rig


@pytest.fixture
def rig(tmp_path):
    return Rig(tmp_path)
