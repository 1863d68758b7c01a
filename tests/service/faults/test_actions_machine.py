"""Reinstall, reseed and rescue through a management server, the real entry, agent and service."""

import asyncio

import pytest

from provisioner.agent.order import OrderFailedError
from provisioner.servers.model import Power
from tests.service.faults.tenant import Tenant

pytestmark = pytest.mark.emulated

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEpJRnVj4Qx1Yx0QmQ2zq0m3Jf5n3mS0m8r1WqkB4yTn alice"
FINGERPRINT = f"SHA256:{'H' * 43}"
MARKS = "SELECT phase, wanted, needs_reinstall, off_first FROM allocation WHERE instance = ?"


@pytest.fixture
def tenant(site, tmp_path):
    site.start()
    made = Tenant(site, tmp_path)
    made.instance.details["SSH.PublicKey"] = f"{KEY} \n"
    return made.deployed()


def begin(tenant, name, **parameters):
    """Answered within its time, also with its failure, and waited for to its end; how that was."""
    tenant.run(name, **parameters)
    query = "SELECT id FROM operation WHERE kind = ? ORDER BY number DESC LIMIT 1"
    ((operation,),) = tenant.site.rows(query, name)
    return until_ended(tenant, operation)


def until_ended(tenant, operation):
    query = "SELECT status FROM operation WHERE id = ?"
    open_now = lambda: tenant.site.rows(query, operation) == [("open",)]  # noqa: E731
    tenant.site.until(lambda: not open_now(), f"the end of {operation}")
    return tenant.site.rows(query, operation)[0][0]


def until_cut_off(tenant):
    """Behind the failure: off, and its port in quarantine."""
    busy = "SELECT count(*) FROM operation WHERE status = 'open'"
    tenant.site.until(lambda: tenant.site.rows(busy) == [(0,)], "what makes it safe")
    assert tenant.site.rack[tenant.machine].board.settled() is Power.OFF
    lines = [line for line in tenant.site.rack.log.acts(tenant.machine) if " port to " in line]
    assert lines[-1] == f"{tenant.machine} port to quarantine"


def marks(tenant):
    return tenant.site.rows(MARKS, tenant.instance.uuid)[-1]


def ping(tenant):
    (host,) = tenant.server.cloud.hosts
    return asyncio.run(tenant.server.ping(host))[tenant.instance.uuid]


def test_a_reinstall_writes_the_disk_again_and_survives_a_kill(tenant):
    name, confirm = tenant.machine, tenant.instance.name
    since = len(tenant.site.rack.log.lines)
    held = tenant.site.rack.log.hold(f"{name} agent write_image")
    found = tenant.items("reinstall", confirm=confirm)
    assert found["reinstall"] == "goes on: ask for progress"
    assert found["user data"].startswith("none: ")
    held.wait()
    assert tenant.items("progress")["what"] == "reinstallation"
    assert tenant.items("reinstall", confirm=confirm)["operation"] == found["operation"]
    assert tenant.refused("rescue").startswith("INSTANCE_BUSY: ")
    assert found["operation"] in tenant.refused("power-cycle", confirm=confirm)
    assert marks(tenant) == ("active", "on", 1, 1)
    tenant.site.kill()
    held.let_go()
    tenant.site.start()
    assert until_ended(tenant, found["operation"]) == "done"
    acts = [line.removeprefix(f"{name} ") for line in tenant.site.rack.log.acts(name, since=since)]
    assert acts.count("agent write_image") == acts.count("agent write_seed") == 1
    assert acts.count("is on") == 2
    assert marks(tenant) == ("active", "on", 0, 0)
    assert tenant.site.rack[name].board.settled() is Power.ON


def test_a_failed_reinstall_keeps_the_instance_and_another_one_mends_it(tenant):
    name, confirm = tenant.machine, tenant.instance.name

    def fails(*_):
        raise OrderFailedError("DISK_FAILED", "an error")

    tenant.site.rack[name].orders["write_image"] = fails
    assert begin(tenant, "reinstall", confirm=confirm) == "failed"
    until_cut_off(tenant)
    assert marks(tenant) == ("active", "off", 1, 0)
    assert tenant.items("why")["last failure"] == "DISK_FAILED"
    assert tenant.refused("power-cycle", confirm=confirm).startswith("REINSTALL_NEEDED: ")
    assert tenant.refused("reseed").startswith("REINSTALL_NEEDED: ")
    tenant.do(tenant.server.stop(tenant.instance))
    started = asyncio.run(tenant.server.start(tenant.instance))
    assert not started.succeeded
    del tenant.site.rack[name].orders["write_image"]
    assert begin(tenant, "reinstall", confirm=confirm) == "done"
    assert tenant.site.rack[name].board.settled() is Power.OFF
    tenant.do(tenant.server.start(tenant.instance))
    assert tenant.site.rack[name].board.settled() is Power.ON


def test_a_failed_reinstall_may_be_deleted(tenant):
    name = tenant.machine

    def fails(*_):
        raise OrderFailedError("DISK_FAILED", "an error")

    tenant.site.rack[name].orders["write_image"] = fails
    assert begin(tenant, "reinstall", confirm=tenant.instance.name) == "failed"
    tenant.do(tenant.server.destroy(tenant.instance, expunge=True))
    tenant.site.until_state(name, "AVAILABLE")


def test_a_rescue_shows_its_host_key_stays_on_and_a_reboot_ends_it(tenant):
    name = tenant.machine
    since = len(tenant.site.rack.log.lines)
    assert begin(tenant, "rescue") == "done"
    assert tenant.site.states()[name] == "RESCUE"
    assert tenant.items("rescue")["host key"] == FINGERPRINT
    assert tenant.items("progress")["host key"] == FINGERPRINT
    found = tenant.items("why")
    assert found["state"].startswith("a rescue system runs")
    assert found["host key"] == FINGERPRINT
    lines = tenant.site.rack.log.acts(name, since=since)
    to_tenant = f"{name} port to tenant {tenant.instance.nics[0].vlan}"
    assert lines.index(f"{name} runs a rescue system") < lines.index(to_tenant)
    assert tenant.site.rows("SELECT count(*) FROM boot WHERE closed_at IS NULL") == [(0,)]
    assert ping(tenant) == "PowerOn"
    assert tenant.refused("reinstall", confirm=tenant.instance.name).startswith("STATE_CONFLICT: ")
    tenant.do(tenant.server.reboot(tenant.instance))
    assert tenant.site.states()[name] == "ACTIVE"
    assert str(tenant.site.rack[name].board.booted_from[-1]) == "disk"
    tenant.do(tenant.server.stop(tenant.instance))
    assert tenant.refused("rescue").startswith("STATE_CONFLICT: ")
