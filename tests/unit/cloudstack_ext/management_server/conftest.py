import pytest

from tests.unit.cloudstack_ext.management_server.world import World


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)
