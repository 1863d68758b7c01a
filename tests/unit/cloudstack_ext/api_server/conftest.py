import pytest
from cs import CloudStack

from cloudstack_ext.api_server.server import ApiServer
from cloudstack_ext.api_server.settings import ServerSettings


class Clock:
    """Goes on when it is told to."""

    def __init__(self, now=1_796_000_000.0):
        self.now = now

    def __call__(self):
        return self.now


class NearClock(Clock):
    """Real time, moved: cs signs with the real one."""

    def __init__(self):
        import time

        super().__init__(time.time())


def api_of(server, user="admin", **more):
    key = server.keys[user]
    return CloudStack(
        server.endpoint,
        key=key.key,
        secret=key.secret.reveal(),
        method="post",
        timeout=5,
        **more,
    )


@pytest.fixture
def clock():
    return NearClock()


@pytest.fixture
def server(clock, tmp_path):
    settings = ServerSettings(calls=tmp_path / "calls.jsonl")
    with ApiServer(settings, now=clock) as running:
        yield running


@pytest.fixture
def api(server):
    return api_of(server)
