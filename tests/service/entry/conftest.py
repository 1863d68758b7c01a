import pytest

from tests.service.entry.rig import HTTPS, SOCKET, Rig


@pytest.fixture(params=[SOCKET, HTTPS])
def rig(tmp_path, request):
    """Each test over both ways."""
    made = Rig(tmp_path, request.param)
    yield made
    made.close()


@pytest.fixture
def by_socket(tmp_path):
    """For what is the socket's alone."""
    made = Rig(tmp_path)
    yield made
    made.close()
