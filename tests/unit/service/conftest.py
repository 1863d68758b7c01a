import pytest

from tests.unit.service.operators import Service


@pytest.fixture
def service() -> Service:
    return Service()
