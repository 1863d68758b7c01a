import pytest

from tests.service.conformance.nursery import Nursery


@pytest.fixture(scope="session")
def nursery(tmp_path_factory):
    made = Nursery(tmp_path_factory.mktemp("nursery"))
    yield made
    made.close()
