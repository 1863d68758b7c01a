import pytest

from tests.unit.cloudstack_ext.registration.rig import Zone


@pytest.fixture
def zone():
    with Zone() as made:
        yield made
