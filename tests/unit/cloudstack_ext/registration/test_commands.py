"""`rackwright cloudstack`, whole: files, our service, CloudStack's API, exit statuses."""

import json
from dataclasses import replace

import pytest

from cloudstack_ext.api_server.model.accounts import Permission, Role, RoleType, Rule
from cloudstack_ext.cli.group import cloudstack_group
from cloudstack_ext.cli.work import RegistrationDoors
from cloudstack_ext.client import CloudStackClient
from cloudstack_ext.registration.verify import FILE_CHECKS
from provisioner.adapters.keys.certificate_end import certificate_ends
from provisioner.cli.group import make_cli
from provisioner.errors import ErrorCode
from provisioner.servers.model import Pool
from provisioner.units import ImageName, PoolName, ServerName
from tests.unit.cli.rig import Rig, failed
from tests.unit.cloudstack_ext.registration.machines import Machines
from tests.unit.cloudstack_ext.registration.rig import FILE, Zone, shape

pytestmark = pytest.mark.emulated


class Desk(Rig):
    """The command line beside a zone."""

    def __init__(self, folder, zone):
        super().__init__(folder)
        self.zone = zone
        images = {"debian-12": ImageName("debian-12"), "ubuntu": ImageName("ubuntu")}
        for name in ("h200", "general"):
            self.desk.pool_map[name] = Pool(name=PoolName(name), images=images)
        self.clock = self.desk.clock = zone.clock
        self.machines = Machines(zone.clock)
        doors = RegistrationDoors(
            clock=zone.clock,
            connect=self._client,
            shell=self.machines.open_shell,
            certificate_ends=certificate_ends,
        )
        more = (cloudstack_group(lambda: doors),)
        self.cli = make_cli(replace(self._callbacks(), more=more), connect=self._connect)
        self.file, self.key = folder / "cloudstack.yaml", folder / "admin.key"
        self.write()
        key = zone.server.key
        self.key.write_text(f"# admin\nkey = {key.key}\nsecret = {key.secret.reveal()}\n")
        self.key.chmod(0o600)

    def _client(self, wanted, key, clock):
        return CloudStackClient(wanted.endpoint, key, clock, ca=wanted.ca)

    def write(self, *pairs):
        text = FILE.replace("http://127.0.0.1:8080/client/api", self.zone.server.endpoint)
        for old, new in pairs:
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        self.file.write_text(text)

    def ask(self, word, *more):
        return self.run("cloudstack", word, str(self.file), "--api-key-file", str(self.key), *more)


@pytest.fixture
def desk(tmp_path):
    with Zone() as zone:
        yield Desk(tmp_path, zone)


def test_a_plan_ends_with_2_where_something_is_to_be_done_and_with_0_where_nothing_is(desk):
    planned = desk.ask("plan")
    assert planned.exit_code == 2, planned.output
    assert "  + make extension rackwright" in planned.stdout
    assert '      + hosttags = "gpu,h200-a"' in planned.stdout
    assert "Plan: 11 to make; 0 as they should be." in planned.stdout
    assert desk.zone.calls() == []
    applied = desk.ask("apply")
    assert applied.exit_code == 0, applied.output
    assert "Done: 12 steps. No changes: 11 objects are as they should be." in applied.stdout
    again = desk.ask("plan")
    assert (again.exit_code, again.stderr) == (0, "")
    assert "No changes: 11 objects are as they should be." in again.stdout


def test_a_plan_for_programs_has_steps_with_their_calls_and_advice(desk):
    planned = desk.ask("plan", "--output", "json")
    assert planned.exit_code == 2
    tree = json.loads(planned.stdout)
    assert tree["version"] == 1
    assert tree["refusals"] == []
    host = next(step for step in tree["steps"] if step["name"] == "h200-a")
    assert (host["act"], host["kind"], host["id"]) == ("make", "host", None)
    assert host["calls"][0]["command"] == "addHost"
    assert host["calls"][0]["parameters"]["hosttags"] == "gpu,h200-a"
    assert {each["name"] for each in tree["advice"]} >= {"user.vm.denied.details"}


def test_the_rules_of_the_services_own_key_end_with_a_denial_of_all_others(desk):
    rules = json.loads(desk.ask("plan", "--output", "json").stdout)["service_rules"]
    assert {"rule": "listVirtualMachines", "permission": "allow"} in rules
    # the first rule that fits decides, and without a denial CloudStack allows what it likes
    assert rules[-1] == {"rule": "*", "permission": "deny"}
    assert {each["permission"] for each in rules[:-1]} == {"allow"}
    (line,) = [each for each in desk.ask("plan").stdout.splitlines() if "own key" in each]
    assert ", deny *; what no rule denies, CloudStack allows to such a role" in line


def test_a_change_is_shown_with_its_old_and_its_new_value(desk):
    desk.ask("apply")
    desk.write(("mhz: 2400, memory", "mhz: 2500, memory"), ("more_tags: [gpu]", "more_tags: []"))
    shown = desk.ask("plan")
    assert shown.exit_code == 2
    assert '      ~ hosttags = "gpu,h200-a" -> "h200-a"' in shown.stdout
    assert "-/+ replace offering bm.general" in shown.stdout
    assert '      ~ cpuspeed = "2400" -> "2500"' in shown.stdout
    assert "Plan: 1 to change, 1 to replace, 1 to retire; 9 as they should be." in shown.stdout


@pytest.mark.parametrize("word", ["apply", "unregister"])
def test_a_dry_run_names_every_call_and_makes_none(desk, word):
    if word == "unregister":
        desk.ask("apply")
    before = desk.zone.calls()
    done = desk.ask(word, "--dry-run")
    assert done.exit_code == 0, done.output
    wanted = {"apply": "createServiceOffering", "unregister": "deleteServiceOffering"}[word]
    assert f"      calls {wanted}" in done.stdout
    assert desk.zone.calls() == before


def test_evidence_tells_what_was_asked_done_and_reached(desk, tmp_path):
    desk.ask("apply", "--evidence", str(tmp_path / "records"))
    (path,) = (tmp_path / "records").iterdir()
    record = json.loads(path.read_text())
    assert record["asked"] == "register cloudstack.yaml"
    assert record["state"]["left"] == 0
    assert len(record["state"]["registered"]) == 11
    assert record["done"]["steps"][0]["calls"][0]["command"] == "createExtension"
    assert desk.zone.server.key.secret.reveal() not in path.read_text()


def test_unregister_takes_all_back_also_where_pools_are_gone(desk):
    desk.ask("apply")
    desk.desk.pool_map.clear()
    done = desk.ask("unregister")
    assert done.exit_code == 0, done.output
    assert not desk.zone.state.extensions
    assert desk.desk.held_outside == {}


# --- refused ---------------------------------------------------------------------------------
def test_every_mistake_of_the_file_is_named_before_anybody_is_asked(desk):
    desk.write(("host: general-a", "host: h200-a"), ("cpu: 32", "cpu: many"))
    line = failed(desk.ask("apply"), ErrorCode.REGISTRATION_INVALID, 64)
    assert "pools[1].host: h200-a stands twice" in line
    assert "sizes[1].cpu: a whole number is expected" in line
    assert desk.zone.server.calls.all() == ()


def test_pools_and_images_that_are_not_here_are_named_before_cloudstack_is_asked(desk):
    desk.write(("image: debian-12", "image: debian-99"))
    del desk.desk.pool_map["general"]
    line = failed(desk.ask("plan"), ErrorCode.REGISTRATION_INVALID, 64)
    assert "pools[1].pool: there is no pool general here" in line
    assert "images[0].image: no pool of this file has debian-99 in its map of images" in line
    assert desk.zone.server.calls.all() == ()


def test_a_pool_that_is_too_large_for_one_host_is_told_to_be_made_two(desk):
    server = replace(desk.desk.kept[ServerName("bios1")], pool=PoolName("h200"))
    desk.desk.kept.clear()
    for number in range(501):
        name = ServerName(f"s{number:03}")
        desk.desk.kept[name] = replace(server, name=name)
    line = failed(desk.ask("plan"), ErrorCode.REGISTRATION_INVALID, 64)
    assert "pools[0].pool: h200 has 501 servers; one host serves 500 at most" in line
    assert "make two pools" in line


@pytest.mark.parametrize(
    ("content", "mode", "code"),
    [
        ("key = a\nsecret = b\n", 0o644, ErrorCode.FILE_UNREADABLE),
        ("key = a\n", 0o600, ErrorCode.CLOUDSTACK_KEY),
        ("key = a\nsecret = b\nuser = c\n", 0o600, ErrorCode.CLOUDSTACK_KEY),
        ("key = a\nkey = b\nsecret = c\n", 0o600, ErrorCode.CLOUDSTACK_KEY),
        ("", 0o600, ErrorCode.CLOUDSTACK_KEY),
        (None, 0o600, ErrorCode.FILE_UNREADABLE),
    ],
)
def test_a_key_file_is_two_lines_that_nobody_else_may_read(desk, content, mode, code):
    desk.key.unlink()
    if content is not None:
        desk.key.write_text(content)
        desk.key.chmod(mode)
    failed(desk.ask("plan"), code, 64)
    assert desk.zone.server.calls.all() == ()


def test_a_wrong_secret_is_one_line_and_never_shown(desk):
    desk.key.write_text(f"key = {desk.zone.server.key.key}\nsecret = wrong-secret\n")
    line = failed(desk.ask("apply"), ErrorCode.CLOUDSTACK_KEY, 64)
    assert "wrong-secret" not in line
    assert desk.zone.calls() == []


@pytest.mark.parametrize("word", ["plan", "unregister"])
def test_every_rule_that_the_key_lacks_is_named_before_anything_is_done(desk, word):
    if word == "unregister":
        desk.ask("apply")
    state = desk.zone.state
    rules = [Rule(id=rule, rule=rule, permission=Permission.ALLOW) for rule in ("list*", "query*")]
    state.roles["r"] = Role(id="r", name="looker", type=RoleType.ADMIN, rules=rules)
    admin = next(each for each in state.accounts.values() if each.name == "admin")
    admin.role = "r"
    before = desk.zone.calls()
    done = desk.ask(word)
    assert done.exit_code == 64, done.output
    wanted = {"plan": "registerTemplate", "unregister": "deleteHost"}[word]
    assert "add to its role the rules" in done.stderr
    assert wanted in done.stderr
    assert desk.zone.calls() == before


def test_what_stands_in_the_way_is_shown_and_ends_with_3(desk):
    desk.ask("apply")
    (extension,) = desk.zone.state.extensions.values()
    extension.details = {}
    shown = desk.ask("plan")
    assert shown.exit_code == 3
    assert "refused: extension rackwright" in shown.stdout
    assert shown.stderr.startswith("REGISTRATION_REFUSED: extension rackwright")
    before = desk.zone.calls()
    failed(desk.ask("apply"), ErrorCode.REGISTRATION_REFUSED, 3)
    assert desk.zone.calls() == before


def test_what_cloudstack_takes_and_does_not_keep_is_said_and_not_repeated_for_ever(
    desk, monkeypatch
):
    from cloudstack_ext.api_server.handlers import HANDLERS

    update = HANDLERS["updateHost"]

    def forgetful(call):
        host = next(iter(call.state.hosts.values()))
        tags = host.tags
        found = update(call)
        host.tags = tags
        return found

    desk.ask("apply")
    handlers = {**HANDLERS, "updateHost": forgetful}
    monkeypatch.setattr("cloudstack_ext.api_server.dispatch.HANDLERS", handlers)
    desk.write(("more_tags: [gpu]", "more_tags: [fast]"))
    done = desk.ask("apply")
    assert done.exit_code == 4
    assert "shows something else afterwards: change host h200-a" in done.stderr


# --- settings --------------------------------------------------------------------------------
SETTINGS = ("sizes:", 'settings: {start.retry: "12", commands.timeout: "StopCommand=900"}\nsizes:')


def test_settings_are_changed_only_when_asked_and_then_said_with_old_and_new(desk):
    desk.write(SETTINGS)
    desk.ask("apply")
    assert "updateConfiguration" not in desk.zone.calls()
    dry = desk.ask("apply", "--settings", "--dry-run")
    assert "  ~ setting start.retry: 10 -> 12\n      calls updateConfiguration\n" in dry.stdout
    tree = json.loads(desk.ask("apply", "--settings", "--dry-run", "--output", "json").stdout)
    assert [each["name"] for each in tree["settings"]] == ["start.retry", "commands.timeout"]
    assert "updateConfiguration" not in desk.zone.calls()
    done = desk.ask("apply", "--settings")
    assert done.exit_code == 0, done.output
    assert "setting start.retry: 10 -> 12\n" in done.stderr
    assert "StopCommand=900; in force after a restart of the management servers" in done.stderr
    assert desk.zone.state.settings["start.retry"].value == "12"
    count = desk.zone.calls().count("updateConfiguration")
    again = json.loads(desk.ask("apply", "--settings", "--output", "json").stdout)
    assert again == {"version": 1, "done": [], "settings": [], "left": 0}
    desk.zone.state.settings["start.retry"].value = "3"
    told = json.loads(desk.ask("apply", "--settings", "--output", "json").stdout)["settings"]
    assert told == [{"name": "start.retry", "old": "3", "new": "12", "restart": False}]
    desk.zone.state.settings["start.retry"].value = "12"
    assert desk.zone.calls().count("updateConfiguration") == count + 1 == 3


def test_advice_has_its_reason_and_whether_a_restart_is_needed(desk):
    desk.zone.state.settings["start.retry"].value = "0"
    desk.zone.state.settings["commands.timeout"].value = "StopCommand=25"
    shown = desk.ask("plan")
    assert "advice: start.retry is 0 -> " in shown.stdout
    assert "every deploy fails" in shown.stdout
    line = next(line for line in shown.stdout.splitlines() if "commands.timeout" in line)
    assert "StopCommand=25" in line
    assert "needs a restart" in line


# --- verify ----------------------------------------------------------------------------------
def checked(desk):
    done = desk.ask("verify", "--output", "json")
    tree = json.loads(done.stdout)
    return done.exit_code, {(each["name"], each["about"]): each for each in tree["checks"]}


def test_what_cannot_be_looked_at_is_unknown_and_ends_with_4(desk):
    desk.ask("apply")
    status, checks = checked(desk)
    assert status == 4
    unknown = {name for (name, _), each in checks.items() if each["outcome"] == "unknown"}
    assert unknown == set(FILE_CHECKS)
    assert checks["plan", "registration"]["outcome"] == "ok"
    assert checks["path state", "extension rackwright"]["outcome"] == "ok"
    assert checks["host state", "host h200-a"]["outcome"] == "ok"
    assert "stops all its instances" in checks["maintenance", "hosts"]["text"]
    table = desk.ask("verify")
    assert "UNKNOWN" in table.stdout
    assert table.exit_code == 4


def test_servers_that_the_key_may_not_list_are_unknown(desk):
    desk.ask("apply")
    state = desk.zone.state
    rules = [
        Rule(id=rule, rule=rule, permission=permission)
        for rule, permission in (
            ("listManagementServers", Permission.DENY),
            ("list*", Permission.ALLOW),
            ("query*", Permission.ALLOW),
        )
    ]
    state.roles["r"] = Role(id="r", name="looker", type=RoleType.ADMIN, rules=rules)
    admin = next(each for each in state.accounts.values() if each.name == "admin")
    admin.role = "r"
    status, checks = checked(desk)
    assert status == 4
    assert checks["server state", "management servers"]["outcome"] == "unknown"
    assert checks["plan", "registration"]["outcome"] == "ok"


def test_what_is_bad_is_bad(desk, tmp_path):
    desk.ask("apply")
    state = desk.zone.state
    (extension,) = state.extensions.values()
    (server,) = state.servers.values()
    extension.state = type(extension.state)("Disabled")
    server.extensions = tmp_path / "empty"
    extension.path_ready = False
    server.state = "Down"
    host = next(iter(state.hosts.values()))
    host.state = type(host.state)("Disabled")
    offering = next(iter(state.offerings.values()))
    state.offerings["strange"] = replace(offering, id="strange", name="strange", details={})
    template = next(iter(state.templates.values()))
    state.templates["strange"] = replace(template, id="strange", name="strange", details={})
    _, checks = checked(desk)
    outcomes = {key: each["outcome"] for key, each in checks.items()}
    assert outcomes["extension state", "extension rackwright"] == "bad"
    assert outcomes["path state", "extension rackwright"] == "bad"
    assert outcomes["server state", f"management server {server.name}"] == "bad"
    assert outcomes["host state", f"host {host.name}"] == "warning"
    assert outcomes["offering", "offering strange"] == "warning"
    assert outcomes["template", "template strange"] == "warning"


def test_a_clock_that_is_far_away_is_bad(desk):
    desk.ask("apply")
    desk.zone.clock.step_wall(-300.0)
    _, checks = checked(desk)
    assert checks["clock", "clocks"]["outcome"] == "bad"


def test_two_zones_registered_alike_have_one_shape(desk, tmp_path):
    (tmp_path / "other").mkdir()
    desk.ask("apply")
    with Zone() as zone:
        Desk(tmp_path / "other", zone).ask("apply")
        assert shape(zone)["offerings"] == shape(desk.zone)["offerings"]
