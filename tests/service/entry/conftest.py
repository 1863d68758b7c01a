import pytest

from tests.service.entry.rig import Rig


@pytest.fixture
def rig(tmp_path):
    made = Rig(tmp_path)
    yield made
    made.close()
