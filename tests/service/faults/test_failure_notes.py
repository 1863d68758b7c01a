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


def test_an_instance_that_is_expunged_keeps_no_other_from_its_note(asked):
    """While it was installed, and no delete came for it."""

    def fails(*_):
        with asked.server.state.lock:
            asked.server.state.instances.pop(gone, None)
        raise OrderFailedError("DISK_FAILED", "as the test says")

    for machine in asked.site.names:
        asked.site.rack[machine].orders.update(write_image=fails)
    gone, stays = asked.deploy("gone"), asked.deploy("stays")
    for instance in (gone, stays):
        assert asked.call("create", instance).code == "DISK_FAILED"
    asked.site.until(lambda: notes(asked), "a note", 30.0)
    with asked.server.state.lock:
        assert {each.entity for each in asked.server.state.annotations.values()} == {stays}
    over = "SELECT count(*) FROM failure_note WHERE outside_id = '' AND taken_back_at IS NOT NULL"
    assert asked.site.rows(over) == [(1,)]
