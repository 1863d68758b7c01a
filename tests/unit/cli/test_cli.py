"""The whole command against the operators' API, both in this process, on desks in memory."""

import asyncio
import json
import os
import signal
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from provisioner.cli.callbacks import (
    ApiServerCallbacks,
    Callbacks,
    ImageCallbacks,
    Initialised,
    IssuedEntry,
    KeyCallbacks,
    LabCallbacks,
    ServiceCallbacks,
)
from provisioner.cli.group import make_cli
from provisioner.cli.service import ROLES
from provisioner.cli.service_client import error_of
from provisioner.config import OperatorUid, Role, load
from provisioner.errors import ConflictError, ErrorCode, OperatorError
from provisioner.operations.desk import Adopt, JournalCall, Provide
from provisioner.ports.catalogue import ImageRecord
from provisioner.secret import Secret
from provisioner.servers.manifest import parse_manifest
from provisioner.servers.model import Pool
from provisioner.servers.operation import Status
from provisioner.service.identity import ByPeer
from provisioner.service.metrics import Metrics
from provisioner.service.operators import operator_app, operator_table
from provisioner.testing.clock import FakeClock
from provisioner.testing.desk import MemoryDesk
from provisioner.units import ImageName, OperationId, PoolName, ServerName, WallSeconds
from tests.asgi import Reply, call

_UNREADABLE = ErrorCode.FILE_UNREADABLE
EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"
MANIFEST = """
version: 1
servers:
  - name: bios1
    pool: a
    controller: {protocol: ipmi, address: 10.66.0.11, user: admin, password_file: secret}
    firmware: bios
    nics: [{mac: "52:54:00:aa:00:01", roles: [provisioning, tenant], port: tap-bios1}]
    root_disk: {serial: D1}
"""
INSTANCE = "aaaaaaaa-0000-4000-8000-000000000007"
IMAGE = ImageRecord(
    name=ImageName("tiny"),
    root="ab" * 32,
    image_bytes=8 << 20,
    data_bytes=1 << 20,
    block_bytes=4 << 20,
    logical_sector_bytes=512,
    source_format="qcow2",
    imported_at=WallSeconds(1.0),
    folder=Path("/blobs/images/tiny"),
)


class AsgiDoor:
    """The door to a service in this process."""

    def __init__(self, app: Any, after_event: Any) -> None:
        self.app, self.after_event = app, after_event

    def _call(self, method: str, target: str, body: object = None) -> Reply:
        raw = b"" if body is None else json.dumps(body).encode()
        reply = asyncio.run(call(self.app, method, target, raw, state={"peer_uid": 0}))
        if reply.status != 200:
            raise error_of(reply.status, reply.body)
        return reply

    def ask(self, method: str, target: str, body: object = None) -> Any:
        return self._call(method, target, body).json()

    def fetch(self, target: str) -> bytes:
        return self._call("GET", target).body

    def events(self, target: str) -> Iterator[Any]:
        self.after_event()
        for line in self._call("GET", target).text.split("\n\n"):
            if line.startswith("data: "):
                yield json.loads(line.removeprefix("data: "))


class Rig:
    def __init__(self, folder: Path) -> None:
        self.folder, self.runner = folder, CliRunner()
        self.clock = FakeClock()
        self.desk = MemoryDesk(clock=self.clock)
        self.entry = parse_manifest(MANIFEST, source="m").servers[0]
        self.desk.kept[ServerName("bios1")] = self.entry.record(WallSeconds(1.0))
        self.desk.pool_map["a"] = Pool(name=PoolName("a"), images={"tiny": ImageName("tiny")})
        self.end_as = Status.DONE
        self.calls: list[Any] = []
        self.table = operator_table(
            self.desk.desk(), clock=self.clock, metrics=Metrics(), stopping=lambda: False
        )
        root = OperatorUid(uid=0, name="root", role=Role.ADMIN)
        self.door = AsgiDoor(operator_app(self.table, ByPeer({0: root})), self._end_all)
        self.config = folder / "rackwright.toml"
        self.config.write_text((EXAMPLES / "rackwright.toml").read_text())
        self.cli = make_cli(self._callbacks(), connect=self._connect)

    def _connect(self, path: Path) -> AsgiDoor:
        self.calls.append(("connect", path))
        return self.door

    def _end_all(self) -> None:
        for identifier in list(self.desk.running):
            self.desk.finish(identifier, self.end_as)

    def _note(self, *what: Any) -> None:
        self.calls.append(what)

    def _issue(self, _settings: Any, *asked: Any) -> IssuedEntry:
        self._note("issue", *asked)
        return IssuedEntry(files=(Path("/o/x"),), serial="0A", ends=date(2028, 12, 1), restart=True)

    def _revoke(self, _settings: Any, name: str, *, but_newest: bool) -> tuple[str, ...]:
        self._note("revoke", name, but_newest)
        return () if but_newest else ("0A", "0B")

    def _callbacks(self) -> Callbacks:
        return Callbacks(
            now=self.clock.wall,
            service=ServiceCallbacks(
                serve=lambda settings: self._note("serve", settings),
                initialise=lambda _s: Initialised(files=(Path("/k"),), token=Secret("rwt_1")),
                add_token=lambda _s, name, role: Secret(f"rwt_{name}_{role}"),
                issue_entry=self._issue,
                revoke_entry=self._revoke,
            ),
            images=ImageCallbacks(
                import_image=self._import,
                remove_image=lambda _settings, folder: self._note("remove", folder),
                build_image=lambda *given: self._note("build", *given[:2]),
                buildable=("tiny", "debian-12"),
            ),
            keys=KeyCallbacks(
                read_public_key=lambda pem: pem, verify_signature=lambda *_given: True
            ),
            lab=LabCallbacks(
                up=lambda say: say("network"),
                down=lambda say: say("gone"),
                status=lambda: LAB,
                payload=lambda *given: json.dumps([str(each) for each in given]),
                api_server=ApiServerCallbacks(
                    up=lambda *given: {"version": 1, "given": [str(each) for each in given]},
                    down=lambda: self._note("api server down"),
                    status=lambda: {"version": 1, "running": False},
                ),
            ),
        )

    def _import(self, _settings: Any, source: Path, name: str, report: Any) -> ImageRecord:
        report("converting", 1, 2)
        self._note("import", source, name)
        return IMAGE

    def run(self, *words: str, given: str | None = None) -> Result:
        return self.runner.invoke(
            self.cli, ["--config", str(self.config), *words], input=given, catch_exceptions=False
        )

    def json(self, *words: str) -> Any:
        done = self.run(*words, "--output", "json")
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    def begin(self) -> OperationId:
        return OperationId(self.json("server", "inspect", "bios1")["operation"])


LAB = {
    "version": 1,
    "namespace": "rackwright-rack",
    "service": {
        "pid": 7,
        "sockets": {"operators": "/o"},
        "urls": {"provisioning": "https://10.66.0.1:8443"},
    },
    "entry": ["/e"],
    "servers": [
        {
            "name": "bios1",
            "macs": ["52:54:00:aa:00:01"],
            "bmc": {"protocol": "ipmi", "address": "10.66.0.11", "port": 623},
            "disks": [{"size": 1 << 30}],
        }
    ],
}


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


def failed(done: Result, code: ErrorCode, status: int) -> str:
    assert done.exit_code == status, done.output
    assert done.stderr.startswith(f"{code}: ")
    assert done.stderr.count("\n") == 1
    return done.stderr


# --- errors and usage
@pytest.mark.parametrize(
    "words",
    [
        ("server", "colour"),
        ("server", "show"),
        ("server", "list", "--output", "xml"),
        ("--nothing",),
        ("server", "quarantine", "bios1"),
        ("server", "rebaseline", "bios1"),
        ("server", "adopt", "bios1"),
        ("server", "adopt", "bios1", "--instance", INSTANCE),
        ("server", "adopt", "bios1", "--site", "lab"),
        ("server", "adopt", "bios1", "--site", "lab", "--instance", "i-2-7-VM"),
        ("server", "maintenance", "bios1"),
        ("server", "maintenance", "bios1", "--end", "--reason", "x"),
        ("server", "enrol"),
        ("server", "enrol", "m.yaml", "--name", "x"),
        ("server", "enrol", "--name", "x", "--nic", "aa"),
        ("server", "enrol", "--name", "x", "--root-disk", "serial"),
        ("pool", "put", "a", "--image", "x"),
        ("init", "token", "x", "king"),
        ("init", "entry", "mgmt1"),
        ("init", "entry", "mgmt1", "--site", "zone1"),
        ("init", "entry", "mgmt1", "--out", "/o"),
        ("init", "entry", "mgmt1", "--site", "zone1", "--out", "/o", "--revoke"),
        ("init", "entry", "mgmt1", "--site", "zone1", "--out", "/o", "--but-newest"),
        ("init", "entry", "mgmt1", "--site", "zone1", "--out", "/o", "--days", "0"),
    ],
)
def test_wrong_usage_is_one_line_and_64(rig, words):
    failed(rig.run(*words), ErrorCode.USAGE, 64)


@pytest.mark.parametrize("words", [(), ("server",), ("operation",), ("lab",)])
def test_without_a_command_the_help_is_shown(rig, words):
    done = rig.runner.invoke(rig.cli, list(words))
    assert (done.exit_code, "Usage:" in done.stdout) == (64, True)


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (ErrorCode.PAYLOAD_FIELD, 64),
        (ErrorCode.STATE_CONFLICT, 3),
        (ErrorCode.CANNOT_TELL, 4),
        (ErrorCode.DATABASE_BUSY, 75),
        (ErrorCode.INTERNAL, 1),
    ],
)
def test_the_services_error_becomes_a_line_and_the_exit_status_of_its_code(rig, code, status):
    rig.desk.refuse = OperatorError(code, "not\nnow\x1b[31m")
    line = failed(rig.run("server", "inspect", "bios1"), code, status)
    assert line == f"{code}: not now\ufffd[31m\n"


def test_an_answer_that_is_not_understood_is_said_to_be(rig):
    for body in (b"", b"{}", b'{"error": 1}', b'{"error": {"kind": "input", "code": "NEW"}}'):
        assert error_of(500, body).code is ErrorCode.INTERNAL
    failed(rig.run("server", "show", "gone"), ErrorCode.SERVER_UNKNOWN, 64)


def test_help_names_everything(rig):
    text = rig.run("--help").stdout
    for name in ("server", "pool", "image", "ramdisk", "operation", "evidence", "lab", "serve"):
        assert f"  {name} " in text


def test_completion_is_printed_for_each_shell(rig):
    for shell in ("bash", "zsh", "fish"):
        assert "_RACKWRIGHT_COMPLETE" in rig.run("completion", shell).stdout


# --- files that a person names
@pytest.fixture
def pipe(tmp_path: Path) -> Iterator[str]:
    """A pipe that nobody writes into; whoever waits for it does not wait for ever."""

    def ring(*_given: object) -> None:
        raise AssertionError("waits for a pipe")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(10)
    os.mkfifo(tmp_path / "pipe")
    yield str(tmp_path / "pipe")
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize(
    "words",
    [
        ("config", "check", "--config", "PIPE"),
        ("server", "enrol", "PIPE"),
        ("server", "change", "bios1", "--password-file", "PIPE"),
        ("evidence", "verify", "PIPE", "--key", "GOOD"),
        ("evidence", "verify", "GOOD", "--key", "PIPE"),
        ("evidence", "verify-chain", "FOLDER", "--key", "GOOD"),
        ("evidence", "verify-chain", "FOLDER", "--key", "GOOD", "--head", "PIPE"),
        ("ramdisk", "build", "--lock", "PIPE"),
    ],
)
def test_a_pipe_is_no_file_and_is_not_waited_for(rig, pipe, words):
    folder, good = rig.folder / "export", rig.folder / "good"
    folder.mkdir()
    os.mkfifo(folder / "00000001.json")
    good.write_bytes(b"x" * 32)
    named = {"PIPE": pipe, "GOOD": str(good), "FOLDER": str(folder)}
    line = failed(rig.run(*(named.get(word, word) for word in words)), _UNREADABLE, 64)
    assert line.endswith(": no regular file\n")


def test_a_password_file_of_a_manifest_is_no_pipe(rig, pipe):
    path = write_manifest(rig, MANIFEST.replace("password_file: secret", "password_file: pipe"))
    assert pipe in failed(rig.run("server", "enrol", path), _UNREADABLE, 64)


# --- settings and service
def test_good_settings_are_said_to_be(rig):
    assert rig.run("config", "check").stdout == f"{rig.config}: good\n"
    assert rig.json("config", "check")["notices"] == []


def test_bad_settings_name_everything_at_once(rig):
    rig.config.write_text("version = 1\n[service]\ncolour = 1\n")
    line = failed(rig.run("config", "check"), ErrorCode.CONFIG_INVALID, 64)
    assert "service.colour: unknown key" in line
    assert "provisioning: missing" in line


def test_settings_that_are_not_there_are_said_to_be(rig):
    done = rig.run("config", "check", "--config", "/nowhere")
    assert "/nowhere" in failed(done, ErrorCode.FILE_UNREADABLE, 64)


def test_the_service_runs_with_the_settings_named_at_its_own_place(rig):
    done = rig.runner.invoke(rig.cli, ["serve", "--config", str(rig.config)])
    assert done.exit_code == 0
    ((word, settings),) = rig.calls
    assert word == "serve"
    assert settings == load(rig.config.read_text(), rig.folder)


def test_the_socket_is_that_of_the_settings_unless_named(rig):
    rig.run("server", "list")
    rig.run("--socket", "/s", "server", "list")
    rig.run("server", "list", "--socket", "/t")
    assert [each[1] for each in rig.calls] == [
        Path("/run/rackwright/operators.sock"),
        Path("/s"),
        Path("/t"),
    ]


@pytest.mark.parametrize(
    ("words", "socket"),
    [
        (("server", "list"), "/env"),
        (("--socket", "/s", "server", "list"), "/s"),
        (("server", "list", "--socket", "/t"), "/t"),
        (("--socket", "/s", "server", "list", "--socket", "/t"), "/t"),
    ],
)
def test_a_socket_on_the_line_goes_before_that_of_the_environment(rig, monkeypatch, words, socket):
    monkeypatch.setenv("RACKWRIGHT_SOCKET", "/env")
    assert rig.run(*words).exit_code == 0
    assert rig.calls == [("connect", Path(socket))]


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ((), (), "env"),
        (("line",), (), "line"),
        ((), ("line",), "line"),
        (("x",), ("line",), "line"),
    ],
)
def test_settings_on_the_line_go_before_those_of_the_environment(
    rig, monkeypatch, before, after, told
):
    def file(name: str) -> str:
        path = rig.folder / name
        socket = f'[operators]\nsocket = "/{name}"'
        path.write_text(rig.config.read_text().replace("[operators]", socket))
        return str(path)

    def options(names: tuple[str, ...]) -> list[str]:
        return [word for name in names for word in ("--config", file(name))]

    monkeypatch.setenv("RACKWRIGHT_CONFIG", file("env"))
    done = rig.runner.invoke(rig.cli, [*options(before), "server", "list", *options(after)])
    assert done.exit_code == 0, done.output
    assert rig.calls == [("connect", Path(f"/{told}"))]


def test_init_shows_files_and_the_first_token(rig):
    assert "rwt_1" in rig.run("init").stdout
    assert rig.json("init") == {"version": 1, "files": ["/k"], "token": "rwt_1"}


def test_init_token_shows_the_token(rig):
    assert rig.run("init", "token", "ci", "operator").stdout == "rwt_ci_operator\n"


def test_init_entry_names_files_certificate_and_what_is_to_be_done(rig):
    words = ("init", "entry", "mgmt1", "--site", "zone1", "--out", "/o")
    shown = rig.run(*words).stdout.splitlines()
    assert shown[0] == "/o/x"
    assert "0A of entry mgmt1, site zone1: good to 2028-12-01" in shown[1]
    assert "restart" in shown[2]
    assert rig.json(*words, "--days", "30") == {
        "version": 1,
        "name": "mgmt1",
        "site": "zone1",
        "serial": "0A",
        "ends": "2028-12-01",
        "files": ["/o/x"],
        "restart": True,
    }
    assert [each[1:] for each in rig.calls] == [
        ("mgmt1", "zone1", Path("/o"), days) for days in (730, 30)
    ]


def test_init_entry_revokes_by_name_and_says_what(rig):
    words = ("init", "entry", "mgmt1", "--revoke")
    assert rig.run(*words).stdout == "revoked 0A\nrevoked 0B\n"
    assert rig.json(*words) == {"version": 1, "name": "mgmt1", "revoked": ["0A", "0B"]}
    assert rig.run(*words, "--but-newest").stdout == "nothing to revoke\n"
    assert [each[2] for each in rig.calls] == [False, False, True]


def test_the_roles_are_those_of_the_service():
    assert tuple(Role) == ROLES


# --- servers
def test_servers_are_listed_for_people_and_programs(rig):
    text = rig.run("server", "list").stdout
    assert [word in text for word in ("NAME", "bios1", "ENROLLED")] == [True] * 3
    assert rig.json("server", "list", "--state", "active")["servers"] == []
    assert rig.json("server", "list", "--state", "enrolled")["servers"][0]["name"] == "bios1"


def test_text_of_a_server_is_neither_markup_nor_obeyed(rig):
    rig.run("server", "maintenance", "bios1", "--reason", "[red]new fan[/red]")
    assert "[red]new fan[/red]" in rig.run("server", "list").stdout


def test_a_server_is_shown(rig):
    text = rig.run("server", "show", "bios1").stdout
    assert "ipmi 10.66.0.11:623" in text
    assert "tap-bios1" in text
    assert rig.json("server", "show", "bios1")["server"]["firmware"] == "bios"


def write_manifest(rig: Rig, text: str) -> str:
    (rig.folder / "secret").touch(0o600)
    (rig.folder / "secret").write_text("hunter2\nnot this\n")
    (rig.folder / "m.yaml").write_text(text)
    return str(rig.folder / "m.yaml")


def test_a_manifest_enrols_with_the_password_of_its_file(rig):
    path = write_manifest(rig, MANIFEST.replace("bios1", "bios2"))
    done = rig.run("server", "enrol", path)
    assert (done.exit_code, "verify of bios2 began" in done.stdout) == (0, True)
    assert rig.desk.passwords[ServerName("bios2")].reveal() == "hunter2"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o622])
def test_a_password_that_others_may_read_is_refused(rig, mode):
    path = write_manifest(rig, MANIFEST.replace("bios1", "bios2"))
    (rig.folder / "secret").chmod(mode)
    line = failed(rig.run("server", "enrol", path), ErrorCode.FILE_UNREADABLE, 64)
    assert f"chmod 600 {rig.folder / 'secret'}" in line
    assert "hunter2" not in line
    assert rig.desk.asked == []


def test_a_password_file_that_is_empty_is_said_to_be(rig):
    path = write_manifest(rig, MANIFEST.replace("bios1", "bios2"))
    (rig.folder / "secret").write_text("\nhunter2\n")
    line = failed(rig.run("server", "enrol", path), ErrorCode.FILE_UNREADABLE, 64)
    assert line.endswith("secret: its first line is empty\n")


def test_a_password_without_a_file_is_asked_for_and_not_shown(rig):
    path = write_manifest(
        rig, MANIFEST.replace("bios1", "b2").replace(", password_file: secret", "")
    )
    done = rig.run("server", "enrol", path, given="s3cret\n")
    assert rig.desk.passwords[ServerName("b2")].reveal() == "s3cret"
    assert "s3cret" not in done.output


def test_of_several_servers_each_is_tried_and_the_failed_are_counted(rig):
    second = MANIFEST.partition("servers:\n")[2].replace("bios1", "b2").replace(":01", ":02")
    path = write_manifest(rig, MANIFEST + second.replace("0.11", "0.12"))
    done = rig.run("server", "enrol", path)
    assert done.exit_code == 3
    assert done.stderr.splitlines() == [
        "bios1: SERVER_EXISTS: bios1 is enrolled already",
        "SERVER_EXISTS: 1 of 2 servers were not enrolled; the last: bios1 is enrolled already",
    ]
    assert "b2" in rig.desk.kept


def test_a_wrong_manifest_names_everything_and_asks_nothing(rig):
    path = write_manifest(rig, "version: 1\nservers: [{name: A}]\n")
    line = failed(rig.run("server", "enrol", path), ErrorCode.MANIFEST_INVALID, 64)
    assert "servers[0].pool: missing" in line
    assert rig.desk.asked == []


def test_one_server_is_enrolled_from_options(rig):
    (rig.folder / "secret").touch(0o600)
    (rig.folder / "secret").write_text("pw")
    done = rig.run(
        *("server", "enrol", "--name", "u1", "--pool", "a", "--protocol", "redfish"),
        *("--address", "192.0.2.1", "--user", "root", "--firmware", "uefi"),
        *("--password-file", str(rig.folder / "secret")),
        *("--nic", "52:54:00:00:00:09,provisioning+tenant,leaf1:Ethernet1,2"),
        *("--root-disk", "smallest_nvme=true", "--root-disk", "min_bytes=1000"),
        *("--root-disk", "serial=123"),
    )
    assert done.exit_code == 0, done.output
    record = rig.desk.kept[ServerName("u1")]
    assert (record.root_disk.smallest_nvme, record.root_disk.min_bytes) == (True, 1000)
    assert record.root_disk.serial == "123"
    assert record.nics[0].port == "leaf1:Ethernet1,2"


@pytest.mark.parametrize(
    "words",
    [
        ("verify", "bios1"),
        ("inspect", "bios1"),
        ("provide", "bios1", "--erase", "D1"),
        ("quarantine", "bios1", "--reason", "smoke"),
        ("rebaseline", "bios1", "--reason", "a disk", "--erase", "D1"),
        ("adopt", "bios1", "--instance", INSTANCE, "--site", "lab"),
        ("retire", "bios1", "--reason", "old age"),
        ("maintenance", "bios1", "--reason", "fan"),
        ("maintenance", "bios1", "--end"),
    ],
)
def test_a_dry_run_shows_steps_and_calls_and_changes_nothing(rig, words):
    done = rig.run("server", *words, "--dry-run")
    assert done.exit_code == 0
    assert done.stdout.startswith("would do: ")
    assert [each[2] for each in rig.desk.asked] == [True]
    assert rig.desk.running == {}
    found = rig.json("server", *words, "--dry-run")
    assert (found["dry_run"], found["operation"]) == (True, None)


def test_an_instance_may_be_named_in_capitals(rig):
    done = rig.run("server", "adopt", "bios1", "--instance", INSTANCE.upper(), "--site", "lab")
    assert done.exit_code == 0
    assert rig.desk.asked[0][1] == Adopt(site="lab", instance=INSTANCE)


def test_the_plan_of_a_dry_run_names_each_call(rig):
    text = rig.run("server", "inspect", "bios1", "--dry-run").stdout
    assert text.splitlines()[1:] == [
        "  off",
        "    controller: identity",
        "    controller: power off",
        "  wipe",
    ]


def test_erase_names_each_disk(rig):
    rig.run("server", "provide", "bios1", "--erase", "D1", "--erase", "D2")
    assert rig.desk.asked[0][1] == Provide(erase=("D1", "D2"))


def test_waiting_follows_to_the_end(rig):
    done = rig.run("server", "inspect", "bios1", "--wait")
    assert (done.exit_code, "off  2.0 s" in done.stdout) == (0, True)


def test_waiting_for_what_ends_badly_ends_badly(rig):
    rig.end_as = Status.SUPERSEDED
    line = failed(rig.run("server", "inspect", "bios1", "--wait"), ErrorCode.SUPERSEDED, 3)
    assert "superseded" in line


def test_waiting_in_json_prints_one_event_a_line(rig):
    done = rig.run("server", "inspect", "bios1", "--wait", "--output", "json")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert events[-1]["operation"]["status"] == "done"


def test_the_calls_of_a_server_are_shown(rig):
    rig.desk.journal.append(
        JournalCall(
            at=WallSeconds(1.0),
            server=ServerName("bios1"),
            door="controller",
            text="read power",
            outcome="ok",
        )
    )
    assert "read power" in rig.run("server", "calls", "bios1").stdout


# --- evidence of a change
def test_a_change_leaves_a_record_of_asked_done_checked_and_reached(rig):
    folder = rig.folder / "records"
    done = rig.run("server", "inspect", "bios1", "--evidence", str(folder))
    assert done.exit_code == 0
    (path,) = folder.iterdir()
    record = json.loads(path.read_text())
    assert record["signed"] is False
    assert record["asked"] == "inspect server bios1"
    assert record["done"]["text"] == "inspect of bios1 began" or record["done"]["operation"]
    # what was called is in the journal; an empty list would say that nothing was
    assert record["done"]["steps"] == [{"name": "off"}, {"name": "wipe"}]
    assert record["checked"] == "bios1 is ENROLLED, power unknown"
    assert record["state"]["operation"]["stages"]
    assert record["repeat"] == ["rackwright", "server", "show", "bios1", "--output", "json"]
    assert record["by"]["command"][-3:] == ["bios1", "--evidence", str(folder)]
    assert rig.run(*record["repeat"][1:]).exit_code == 0


def test_the_record_is_written_also_where_it_ended_badly(rig):
    rig.end_as = Status.CANCELLED
    folder = rig.folder / "records"
    done = rig.run("server", "inspect", "bios1", "--wait", "--evidence", str(folder))
    assert done.exit_code == 3
    (path,) = folder.iterdir()
    assert json.loads(path.read_text())["state"]["operation"]["status"] == "cancelled"


def test_a_dry_run_leaves_no_record(rig):
    folder = rig.folder / "records"
    rig.run("server", "inspect", "bios1", "--dry-run", "--evidence", str(folder))
    assert not folder.exists()


def test_an_older_record_is_never_replaced(rig):
    folder = str(rig.folder / "records")
    assert rig.run("pool", "put", "a", "--evidence", folder).exit_code == 0
    done = rig.run("pool", "put", "a", "--evidence", folder)
    failed_line = done.stderr
    assert (done.exit_code, "FILE_UNREADABLE" in failed_line) == (64, True)


# --- pools and images
def test_a_pool_is_put_and_shown(rig):
    words = ("pool", "put", "b", "--image", "ubuntu-24.04-cuda=tiny", "--wipe-methods", "2")
    assert rig.run(*words).exit_code == 0
    assert rig.json("pool", "show", "b")["pool"]["policy"]["wipe_methods"] == 2
    assert "ubuntu-24.04-cuda" in rig.run("pool", "show", "b").stdout
    assert "b" in rig.run("pool", "list").stdout
    assert len(rig.json("pool", "list")["pools"]) == 2


def test_a_wrong_pool_is_refused_by_the_service(rig):
    done = rig.run("pool", "put", "b", "--wipe-class", "hope")
    assert "--wipe-class" in failed(done, ErrorCode.PAYLOAD_FIELD, 64)


def test_an_image_is_imported_here_and_registered_there(rig):
    done = rig.run("image", "import", "/src.qcow2", "--name", "tiny")
    assert done.exit_code == 0, done.output
    assert done.stdout == f"tiny: 8.0 MiB, digest {IMAGE.root}\n"
    assert done.stderr == ""  # nobody watches
    assert rig.desk.image_map["tiny"] == IMAGE
    assert "8.0 MiB" in rig.run("image", "list").stdout
    assert rig.json("image", "show", "tiny")["image"]["root"] == IMAGE.root
    assert "1970-01-01 00:00:01Z" in rig.run("image", "show", "tiny").stdout


def test_an_import_that_nobody_watches_ends_with_one_line(rig):
    rig.desk.refuse = OperatorError(ErrorCode.DATABASE_BUSY, "not now")
    done = rig.run("image", "import", "/src.qcow2", "--name", "tiny")
    failed(done, ErrorCode.DATABASE_BUSY, 75)


@pytest.mark.parametrize(
    "words", [("import", "https://x/y", "--name", "a"), ("build", "tiny", "--out", "https://x/y")]
)
def test_an_address_is_no_file_and_is_shown_as_it_was_written(rig, words):
    assert "'https://x/y' is no file" in failed(rig.run("image", *words), ErrorCode.USAGE, 64)
    assert rig.calls == []


def test_bytes_that_a_name_does_not_stand_for_do_not_stay(rig):
    rig.desk.refuse = ConflictError(ErrorCode.IMAGE_EXISTS, "image tiny stands for other bytes")
    words = ("image", "import", "/src.qcow2", "--name", "tiny")
    assert rig.run(*words).stderr.endswith("IMAGE_EXISTS: image tiny stands for other bytes\n")
    assert rig.calls[-1] == ("remove", IMAGE.folder)


@pytest.mark.parametrize("code", [ErrorCode.PERMISSION, ErrorCode.DATABASE_BUSY])
def test_an_image_that_may_yet_be_told_stays(rig, code):
    rig.desk.refuse = OperatorError(code, "not now")
    assert rig.run("image", "import", "/src.qcow2", "--name", "tiny").exit_code > 0
    assert rig.calls[-1][0] == "import"


def test_an_image_is_taken_out_of_use_there_and_deleted_here(rig):
    rig.run("image", "import", "/src.qcow2", "--name", "tiny")
    folder = rig.folder / "records"
    done = rig.run("image", "remove", "tiny", "--evidence", str(folder))
    assert (done.exit_code, done.stdout) == (0, "tiny: removed\n")
    assert ("remove", IMAGE.folder) in rig.calls
    assert rig.desk.image_map == {}
    assert len(list(folder.iterdir())) == 1
    failed(rig.run("image", "remove", "tiny"), ErrorCode.IMAGE_UNKNOWN, 64)
    assert rig.calls.count(("remove", IMAGE.folder)) == 1


def test_an_image_is_built_by_its_name(rig):
    assert rig.run("image", "build", "tiny", "--out", "/o.raw").exit_code == 0
    assert ("build", "tiny", Path("/o.raw")) in rig.calls
    assert rig.json("image", "build", "tiny", "--out", "/o.raw")["file"] == "/o.raw"
    done = rig.run("image", "build", "windows", "--out", "/o.raw")
    failed(done, ErrorCode.IMAGE_UNKNOWN, 64)


# --- operations
def test_an_image_is_not_built_into_a_folder_that_is_not_there(rig):
    done = rig.run("image", "build", "tiny", "--out", str(rig.folder / "none" / "x.raw"))
    failed(done, ErrorCode.FILE_UNREADABLE, 64)
    assert rig.calls == []


def test_operations_are_listed_shown_and_bundled(rig):
    identifier = rig.begin()
    assert identifier in rig.run("operation", "list", "--open").stdout
    assert identifier in rig.run("operation", "list", "--server", "bios1").stdout
    bundle = rig.folder / "b.tar.gz"
    done = rig.run("operation", "show", identifier, "--bundle", str(bundle))
    assert (done.exit_code, bundle.read_bytes()) == (0, b"\x1f\x8bbundle")
    shown = rig.json("operation", "show", identifier)["operation"]
    assert [stage["name"] for stage in shown["stages"]] == ["off", "wipe"]


@pytest.mark.parametrize(
    ("ended", "what"),
    [
        ({"status": "open"}, "writing 1.0 KiB of 4.0 KiB"),
        ({"status": "open", "progress_bytes": [0, 0]}, "writing"),
        ({"status": "done"}, ""),
        ({"status": "cancelled", "brief": "possibly on"}, "possibly on"),
        ({"status": "failed", "code": "SEED", "brief": "no disk"}, "SEED: no disk"),
    ],
)
def test_what_an_operation_did_last_is_not_said_of_one_that_has_ended(
    rig, monkeypatch, ended, what
):
    rig.begin()
    (row,) = rig.json("operation", "list")["operations"]
    row |= {"note": "writing", "progress_bytes": [1024, 4096], "code": "", "brief": ""} | ended
    monkeypatch.setattr(rig.door, "ask", lambda *_given: {"operations": [row]})
    told = rig.run("operation", "list").stdout
    assert what in told
    assert ("writing" in told) == ("writing" in what)
    assert ("KiB" in told) == ("KiB" in what)


def test_an_operation_is_followed_cancelled_and_retried(rig):
    identifier = rig.begin()
    assert rig.run("operation", "cancel", identifier, "--dry-run").exit_code == 0
    rig.end_as = Status.CANCELLED
    assert rig.run("operation", "cancel", identifier, "--wait").exit_code == 0
    failed(rig.run("operation", "follow", identifier), ErrorCode.CANCELLED, 3)
    failed(rig.run("operation", "cancel", identifier), ErrorCode.OPERATION_ENDED, 3)
    rig.end_as = Status.DONE
    assert rig.run("operation", "retry", identifier, "--wait").exit_code == 0


def test_a_name_with_a_slash_stays_one_name(rig):
    failed(rig.run("operation", "show", "../servers"), ErrorCode.OPERATION_UNKNOWN, 64)


# --- evidence
def chain_of(rig: Rig) -> None:
    from provisioner.evidence.chain import link

    class Signer:
        def key_id(self) -> str:
            return "00" * 32

        def sign(self, message: bytes) -> str:
            return "11" * 64

    previous = None
    for number in (1, 2):
        document = {"version": 1, "kind": "wipe", "server": {"name": "bios1"}, "class": "clear"}
        rig.desk.chain.append(link(document, previous, number, Signer()))
        previous = rig.desk.chain[-1]["hash"]
    rig.desk.key = "PEM"


def test_evidence_is_shown_and_exported(rig):
    chain_of(rig)
    assert "bios1" in rig.run("evidence", "show").stdout
    assert json.loads(rig.run("evidence", "show", "2").stdout)["sequence"] == 2
    failed(rig.run("evidence", "show", "3"), ErrorCode.EVIDENCE_UNKNOWN, 64)
    folder = rig.folder / "export"
    assert rig.run("evidence", "export", "--all", str(folder)).stdout == f"2 records in {folder}\n"
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["00000001.json", "00000002.json", "head.json", "untrusted-key.pem"]
    done = rig.run("evidence", "export", "--all", str(folder))
    failed(done, ErrorCode.IN_USE, 3)


def test_evidence_of_an_unknown_key_is_no_evidence(rig):
    chain_of(rig)
    folder, key = rig.folder / "export", rig.folder / "key.pem"
    rig.run("evidence", "export", "--all", str(folder))
    key.write_bytes(b"x" * 32)
    words = ("evidence", "verify", str(folder / "00000001.json"), "--key", str(key))
    failed(rig.run(*words), ErrorCode.EVIDENCE_INVALID, 4)
    done = rig.run("evidence", "verify-chain", str(folder), "--key", str(key), "--output", "json")
    assert done.exit_code == 4
    assert json.loads(done.stdout)["good"] is False
    failed(
        rig.run("evidence", "verify", "/nowhere", "--key", str(key)), ErrorCode.FILE_UNREADABLE, 64
    )


@pytest.mark.parametrize("content", [b"", b"\xff\x00", b'{"version": 1, "seq'])
def test_a_damaged_record_is_bad_evidence_not_a_bad_argument(rig, content):
    chain_of(rig)
    folder, key = rig.folder / "export", rig.folder / "key.pem"
    rig.run("evidence", "export", "--all", str(folder))
    key.write_bytes(b"x" * 32)
    (folder / "00000001.json").write_bytes(content)
    for words in (("verify", str(folder / "00000001.json")), ("verify-chain", str(folder))):
        failed(rig.run("evidence", *words, "--key", str(key)), ErrorCode.EVIDENCE_INVALID, 4)


def test_an_export_without_a_record_is_never_good(rig):
    folder, key = rig.folder / "empty", rig.folder / "key.pem"
    folder.mkdir()
    key.write_bytes(b"x" * 32)
    done = rig.run("evidence", "verify-chain", str(folder), "--key", str(key))
    failed(done, ErrorCode.EVIDENCE_INVALID, 4)
    assert done.stdout == ""


def test_one_record_is_no_plural(rig):
    chain_of(rig)
    del rig.desk.chain[1:]
    folder = rig.folder / "one"
    assert rig.run("evidence", "export", "--all", str(folder)).stdout == f"1 record in {folder}\n"


# --- the lab
def test_the_lab_is_shown_for_people_and_programs(rig):
    assert "bios1" in rig.run("lab", "status").stdout
    assert rig.json("lab", "status") == LAB
    assert rig.run("lab", "up").stderr == "network\n"
    assert rig.json("lab", "up") == LAB
    assert rig.json("lab", "down") == {"version": 1, "running": False}


def test_the_api_server_of_the_lab_is_told_which_call_to_cut(rig):
    asked = rig.json("lab", "cloudstack", "up", "--fail-call", "3", "--when", "after")
    assert asked["given"] == ["3", "after"]
    assert rig.json("lab", "cloudstack", "up")["given"] == ["None", "before"]
    assert rig.run("lab", "cloudstack", "up", "--fail-call", "0").exit_code == 64
    assert rig.json("lab", "cloudstack", "status") == {"version": 1, "running": False}
    assert rig.json("lab", "cloudstack", "down") == {"version": 1, "running": False}


def test_the_payload_of_a_verb_is_printed(rig):
    done = rig.run("lab", "payload", "create", "i1", "--image", "tiny", "--ssh-key", "/k")
    assert json.loads(done.stdout) == ["create", "i1", "tiny", "/k", "None"]
