"""Every custom action through a management server and the real entry, on the real service."""

import json
import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from cloudstack_ext.main import callbacks
from provisioner.cli.group import make_cli
from tests.service.faults.tenant import Tenant

pytestmark = pytest.mark.emulated


@pytest.fixture(scope="module")
def tenant(running):
    with tempfile.TemporaryDirectory(prefix="rwp-") as folder:
        yield Tenant(running, Path(folder)).deployed()


def test_why_says_how_the_instance_is(tenant):
    found = tenant.items("why")
    assert found["state"] == "installed, wanted on"
    assert found["last failure"] == "none is remembered"


def test_progress_names_operation_stage_and_end(tenant):
    found = tenant.items("progress")
    ((operation,),) = tenant.site.rows("SELECT id FROM operation WHERE kind = 'deploy'")
    assert found["operation"] == operation
    assert (found["what"], found["state"]) == ("installation", "done")
    assert found["stage"].startswith("alive (")


def test_console_log_shows_what_was_kept(tenant):
    rows = tenant.rows("console-log")
    assert [row["line"] for row in rows] == [str(n) for n in range(1, len(rows) + 1)]


def test_hardware_inventory_shows_parts_and_no_serial(tenant):
    rows = tenant.rows("hardware-inventory")
    assert {"processors", "memory", "disks"} <= {row["item"] for row in rows}
    ((baseline, name),) = tenant.site.rows(
        "SELECT baseline, name FROM server WHERE name = ?", tenant.machine
    )
    facts, said = json.loads(baseline), json.dumps(rows)
    told_apart = [facts["system"]["uuid"], facts["system"]["serial"], name]
    told_apart += [disk[key] for disk in facts["disks"] for key in ("serial", "wwn", "bus_path")]
    told_apart += [card["mac"] for card in facts["nics"]]
    assert not [each for each in told_apart if each and each in said]


def test_health_check_says_power_network_and_age(tenant):
    found = {row["check"]: row for row in tenant.rows("health-check")}
    assert found["instance"]["result"] == "ok"
    assert found["network"]["meaning"].startswith("connected to the instance's networks")
    assert "s ago" in found["remote control"]["meaning"]
    assert tenant.machine not in json.dumps(list(found.values()))


def test_a_certificate_is_verified_by_the_command_and_names_nobody(tenant, tmp_path):
    statement = tenant.items("certificate")["statement"]
    file, key = tmp_path / "statement.json", tmp_path / "evidence.pub"
    key.write_text(tenant.site.client.ask("GET", "/v1/evidence")["untrusted_key"])
    words = ["evidence", "verify", str(file), "--key", str(key)]
    file.write_text(statement)
    ended = CliRunner().invoke(make_cli(callbacks()), words)
    assert ended.exit_code == 0, ended.output
    changed = json.loads(statement)
    changed["document"]["instance"] = "lab/another"
    file.write_text(json.dumps(changed))
    ended = CliRunner().invoke(make_cli(callbacks()), words)
    assert ended.exit_code == 4, ended.output
    wipe = tenant.site.client.ask("GET", "/v1/evidence")["records"]
    own = next(each for each in wipe if each["hash"] == changed["previous"])["document"]
    assert own["server"]["name"] == tenant.machine
    named = [own["server"]["name"], own["server"]["uuid"], own["server"]["serial"]]
    named += [own["reason"]["operation"], *(disk["serial"] for disk in own["disks"])]
    assert not [each for each in named if each and each in statement]


def test_payloads_that_are_no_action_are_refused_in_one_line(tenant):
    assert tenant.refused("delete").startswith("CUSTOM_ACTION_REFUSED: ")
    assert tenant.refused("sel log").startswith("CUSTOM_ACTION_REFUSED: ")
    assert tenant.refused("power-cycle").startswith("PAYLOAD_FIELD: parameters.confirm: ")
    assert tenant.refused("why", really="yes").startswith("PAYLOAD_FIELD: parameters: ")
    assert tenant.refused("reinstall", confirm="another").startswith("PAYLOAD_FIELD: ")


def test_what_needs_cloudstack_s_word_is_refused_where_nobody_has_a_key(tenant):
    """A machine is not touched for it."""
    acts = len(tenant.site.rack.log.acts(tenant.machine))
    image = {"confirm": tenant.instance.name, "image": "tiny"}
    assert tenant.refused("reinstall", **image).startswith("SITE_KEY_MISSING: ")
    assert tenant.refused("reseed").startswith("SITE_KEY_MISSING: ")
    assert tenant.refused("rescue").startswith("KEYS_MISSING: ")
    assert len(tenant.site.rack.log.acts(tenant.machine)) == acts
