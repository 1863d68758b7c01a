"""`rackwright cloudstack service-key`: which key the service asks by, and what it may."""

import json

import pytest

from cloudstack_ext.api_server.model.accounts import Permission, Role, RoleType, Rule
from cloudstack_ext.cli.plan_view import SERVICE_RULES, service_rules
from provisioner.errors import ErrorCode
from provisioner.units import SiteName
from tests.unit.cli.rig import failed
from tests.unit.cloudstack_ext.registration.rig import Zone
from tests.unit.cloudstack_ext.registration.test_commands import Desk

pytestmark = pytest.mark.emulated

SITE = SiteName("zone1")


@pytest.fixture
def desk(tmp_path):
    with Zone() as zone:
        yield Desk(tmp_path, zone)


def of_a_role(desk, rules):
    """The key's account gets a role of type Admin with these rules."""
    kept = [
        Rule(id=rule, rule=rule, permission=Permission(permission)) for rule, permission in rules
    ]
    desk.zone.state.roles["s"] = Role(id="s", name="service", type=RoleType.ADMIN, rules=kept)
    admin = next(each for each in desk.zone.state.accounts.values() if each.name == "admin")
    admin.role = "s"


def test_a_key_with_the_printed_rules_is_tried_and_kept(desk):
    of_a_role(desk, service_rules())
    kept = desk.ask("service-key", "--output", "json")
    assert (kept.exit_code, kept.stderr) == (0, "")
    assert json.loads(kept.stdout)["key"] == desk.zone.server.key.key
    secret = desk.zone.server.key.secret.reveal()
    assert desk.desk.api_keys[SITE].secret.reveal() == secret
    assert secret not in kept.output
    shown = desk.run("cloudstack", "service-key", str(desk.file))
    assert desk.zone.server.key.key in shown.stdout
    assert desk.run("cloudstack", "service-key", str(desk.file), "--remove").exit_code == 0
    assert desk.desk.api_keys == {}


@pytest.mark.parametrize("missing", sorted({*SERVICE_RULES} - {"listApis"}))
def test_a_rule_that_is_missing_is_named_and_the_key_not_kept(desk, missing):
    of_a_role(desk, [each for each in service_rules() if each[0] != missing])
    line = failed(desk.ask("service-key"), ErrorCode.CLOUDSTACK_RIGHTS, 64)
    assert line.strip().endswith(f"add to its role the rules {missing}")
    assert desk.desk.api_keys == {}


def test_a_key_that_may_do_more_is_kept_with_a_notice(desk):
    kept = desk.ask("service-key")
    assert kept.exit_code == 0, kept.output
    assert "more commands than the service does; let its role's last rule deny *" in kept.stderr
    assert SITE in desk.desk.api_keys


def test_a_wrong_key_is_not_kept(desk):
    desk.key.write_text(f"key = {desk.zone.server.key.key}\nsecret = wrong\n")
    failed(desk.ask("service-key"), ErrorCode.CLOUDSTACK_KEY, 64)
    assert desk.desk.api_keys == {}
