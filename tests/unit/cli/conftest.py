import pytest

from tests.unit.cli.test_cli import Rig


@pytest.fixture
def rig(tmp_path):
    return Rig(tmp_path)
