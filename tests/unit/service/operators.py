"""The operators' API in this process, on desks in memory, asked by uid."""

import asyncio
import json

from provisioner.config import OperatorUid, Role
from provisioner.servers.manifest import parse_manifest
from provisioner.service.identity import ByPeer
from provisioner.service.metrics import Metrics
from provisioner.service.operators import operator_app, operator_table
from provisioner.testing.clock import FakeClock
from provisioner.testing.desk import MemoryDesk
from provisioner.units import (
    OperationId,
    ServerName,
    WallSeconds,
)
from tests.asgi import Reply, call

INSTANCE = "aaaaaaaa-0000-4000-8000-000000000007"
UIDS = {
    0: OperatorUid(uid=0, name="root", role=Role.ADMIN),
    1: OperatorUid(uid=1, name="olga", role=Role.OPERATOR),
    2: OperatorUid(uid=2, name="vera", role=Role.VIEWER),
}
MANIFEST = """
version: 1
servers:
  - name: bios1
    pool: a
    controller: {protocol: ipmi, address: 10.66.0.11, user: admin, password_file: /p}
    firmware: bios
    nics: [{mac: "52:54:00:aa:00:01", roles: [provisioning, tenant], port: tap-bios1}]
    root_disk: {serial: D1}
"""
ENTRY = parse_manifest(MANIFEST, source="m").servers[0]
IMAGE = {
    "root": "ab" * 32,
    "image_bytes": 1,
    "data_bytes": 1,
    "block_bytes": 4194304,
    "logical_sector_bytes": 512,
    "source_format": "raw",
    "imported_at": 1.0,
    "folder": "/blobs/images/tiny",
}


class Service:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.desk = MemoryDesk(clock=self.clock)
        self.desk.kept[ServerName("bios1")] = ENTRY.record(WallSeconds(1.0))
        self.stopping = False
        self.table = operator_table(
            self.desk.desk(),
            clock=self.clock,
            metrics=Metrics(),
            stopping=lambda: self.stopping,
        )
        self.app = operator_app(self.table, ByPeer(UIDS))

    def ask(self, method: str, target: str, body: object = None, uid: int = 0) -> Reply:
        raw = b"" if body is None else json.dumps(body).encode()
        return asyncio.run(call(self.app, method, target, raw, state={"peer_uid": uid}))

    def begin(self) -> OperationId:
        reply = self.ask("POST", "/v1/servers/bios1/inspect")
        return OperationId(reply.json()["operation"])


def code_of(reply: Reply) -> str:
    return reply.json()["error"]["code"]
