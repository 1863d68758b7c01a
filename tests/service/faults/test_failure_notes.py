"""A failed deployment is explained at its instance; the note goes after a success."""

import pytest

from cloudstack_ext.api_server.server import ApiServer
from provisioner.agent.order import OrderFailedError
from tests.service.faults.asked import Asked

pytestmark = pytest.mark.emulated


@pytest.fixture
def asked(site):
    site.configure(failure_memory_s=0.1)
    site.start()
    with ApiServer() as server:
        yield Asked(site, server)


def notes(asked):
    with asked.server.state.lock:
        return [each.text for each in asked.server.state.annotations.values()]


def test_the_tenant_reads_why_and_reads_it_no_more_after_a_success(asked):
    def fails(*_):
        raise OrderFailedError("DISK_FAILED", "as the test says")

    asked.site.rack["s1"].orders.update(write_image=fails)
    instance = asked.deploy("trainer")
    assert asked.call("create", instance).code == "DISK_FAILED"
    asked.site.until(lambda: notes(asked), "a note", 30.0)
    (text,) = notes(asked)
    assert text.startswith("DISK_FAILED: ")
    assert "s1" not in text
    assert asked.call("create", instance).exit == 0
    asked.site.until(lambda: not notes(asked), "the note is gone", 30.0)
