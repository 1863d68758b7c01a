"""The whole command against the operators' API, both in this process, on desks in memory."""

import asyncio
import json
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

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
from provisioner.cli.service_client import error_of
from provisioner.config import OperatorUid, Role
from provisioner.errors import ErrorCode
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


def failed(done: Result, code: ErrorCode, status: int) -> str:
    assert done.exit_code == status, done.output
    assert done.stderr.startswith(f"{code}: ")
    assert done.stderr.count("\n") == 1
    return done.stderr


def write_manifest(rig: Rig, text: str) -> str:
    (rig.folder / "secret").touch(0o600)
    (rig.folder / "secret").write_text("hunter2\nnot this\n")
    (rig.folder / "m.yaml").write_text(text)
    return str(rig.folder / "m.yaml")


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
