"""Custom actions that change something, through a management server, each on a site of its own."""

import json

import pytest

from tests.service.faults.tenant import Tenant
from tests.service.faults.test_database import locked

pytestmark = pytest.mark.emulated


@pytest.fixture
def own(site, tmp_path):
    """One that a test may change as it likes."""
    site.start()
    return Tenant(site, tmp_path)


def test_power_cycle_is_a_reboot_that_names_its_operation(own):
    tenant = own.deployed()
    name = tenant.machine
    assert tenant.refused("power-cycle", confirm="another").startswith("PAYLOAD_FIELD: ")
    held = tenant.site.rack.log.hold(f"{name} port to tenant {tenant.instance.nics[0].vlan}")
    since = len(tenant.site.rack.log.lines)
    found = tenant.items("power-cycle", confirm=tenant.instance.name)
    assert found["restart"] == "goes on: ask for progress"
    again = tenant.items("power-cycle", confirm=tenant.instance.uuid)
    assert again["operation"] == found["operation"]
    assert tenant.items("progress")["state"] == "goes on"
    held.let_go()
    query = "SELECT status FROM operation WHERE id = ?"
    tenant.site.until(
        lambda: tenant.site.rows(query, found["operation"]) == [("done",)], "a restart"
    )
    pressed = [line for line in tenant.site.rack.log.lines[since:] if f"{name} power " in line]
    assert pressed.count(f"{name} power on") == 1
    tenant.do(tenant.server.stop(tenant.instance))
    assert tenant.refused("power-cycle", confirm=tenant.instance.name).startswith("STATE_CONFLICT")
    assert tenant.site.rack.log.acts(name)[-1] == f"{name} port to quarantine"


def test_a_failure_is_explained_without_naming_the_machine(own):
    tenant = own.deployed()
    name = tenant.machine
    tenant.site.rack[name].board.password = "changed"
    assert tenant.refused("power-cycle", confirm=tenant.instance.name).startswith("CONTROLLER_")
    query = "SELECT id FROM operation WHERE status = 'failed'"
    ((operation,),) = tenant.site.rows(query)
    found = tenant.items("why")
    assert (found["last failure"], found["operation"]) == ("CONTROLLER_PASSWORD", operation)
    assert found["it failed in"] == "restart"
    assert name not in json.dumps(found)
    tenant.site.until(
        lambda: tenant.rows("health-check")[2]["result"] == "silent", "a silent controller"
    )


def test_cordon_is_for_administrators_and_outlasts_the_instance(own):
    tenant = own.deployed()
    name = tenant.machine
    assert tenant.refused("cordon", reason="noise").startswith("PERMISSION: ")
    query = "SELECT maintenance FROM server WHERE name = ?"
    assert tenant.site.rows(query, name) == [(None,)]
    found = tenant.items("cordon", tenant.admin, reason="noise")
    assert found["cordon"] == "its machine is handed to nobody after this instance"
    ((kept,),) = tenant.site.rows(query, name)
    assert json.loads(kept)["reason"] == "noise"
    acts = tenant.site.client.ask("GET", f"/v1/audit?server={name}&most=2")["acts"]
    assert [each["act"] for each in acts] == ["action cordon", "action cordon"]
    assert acts[0]["who"].startswith("lab: system (Root Admin)")
    tenant.do(tenant.server.destroy(tenant.instance, expunge=True))
    tenant.site.until_state(name, "AVAILABLE")
    ((kept,),) = tenant.site.rows(query, name)
    assert json.loads(kept)["reason"] == "noise"


def test_a_locked_database_is_no_reason_to_answer_late(own):
    """What reads is answered; what must write says that it goes on, and so it does."""
    tenant = own.deployed()
    with locked(tenant.site):
        assert tenant.items("why")["state"] == "installed, wanted on"
        refused = tenant.refused("power-cycle", confirm=tenant.instance.name)
        assert refused.startswith("DEADLINE: ")
    tenant.site.until(
        lambda: tenant.items("progress")["what"] == "restart", "a restart that was asked for"
    )
    acts = tenant.site.rows("SELECT act FROM audit WHERE act LIKE 'action %'")
    assert {("action why",), ("action power-cycle",)} <= set(acts)
