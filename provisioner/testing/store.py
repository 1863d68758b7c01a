"""The real store in a folder, with servers that came through their whole walk.

Cipher and signer are not cryptography: they keep the shape that the store relies on.
"""

import hashlib
import itertools
import uuid
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from provisioner.errors import ErrorCode, OperatorError
from provisioner.evidence.chain import key_id, link
from provisioner.hardware.inventory import (
    Card,
    Cpu,
    Disk,
    Firmware,
    Inventory,
    PciFunction,
    System,
    Transport,
)
from provisioner.ports.allocations import HandOver
from provisioner.ports.clock import Clock
from provisioner.secret import Secret
from provisioner.servers.allocation import InstanceKey, InstanceRequest, TenantNetwork
from provisioner.servers.model import (
    ControllerAddress,
    ControllerIdentity,
    ControllerProtocol,
    FirmwareMode,
    MacRole,
    Nic,
    Pool,
    Power,
    PowerReading,
    Requirements,
    RootDiskRule,
    ServerRecord,
    State,
)
from provisioner.servers.operation import NewOperation, OperationRecord, Outcome
from provisioner.servers.states import FOLLOWS, Ending, Intent
from provisioner.store.database import Database
from provisioner.units import (
    Epoch,
    HostLabel,
    ImageName,
    InstanceId,
    MacAddress,
    MonotonicSeconds,
    OperationId,
    PoolName,
    Seconds,
    ServerName,
    SiteName,
    Vlan,
    WallSeconds,
)

DONE = Outcome(ending=Ending.DONE)


class MaskingCipher:
    """ports.Cipher: text that shows nothing of the clear one, for its purpose alone."""

    def seal(self, clear: bytes, *, purpose: str) -> str:
        """Masked, with what a wrong purpose is recognised by."""
        mask = _mask(purpose, len(clear))
        masked = bytes(a ^ b for a, b in zip(clear, mask, strict=True))
        return f"masked:{_digest(purpose.encode())[:16]}:{masked.hex()}"

    def open(self, sealed: str, *, purpose: str) -> bytes:
        """Unmasked, for the same purpose."""
        _, purposed, masked = sealed.split(":")
        if purposed != _digest(purpose.encode())[:16]:
            raise OperatorError(ErrorCode.INTERNAL, "sealed for another purpose")
        body = bytes.fromhex(masked)
        return bytes(a ^ b for a, b in zip(body, _mask(purpose, len(body)), strict=True))


class DigestSigner:
    """ports.Signer: a digest instead of a signature; `verify` is its other half."""

    public = bytes(32)

    def key_id(self) -> str:
        """Of a key of nothing but zeros."""
        return key_id(self.public)

    def sign(self, message: bytes) -> str:
        """Anybody could."""
        return _digest(message)

    @staticmethod
    def verify(_public: bytes, message: bytes, signature: str) -> bool:
        """As evidence/chain.py asks it."""
        return signature == _digest(message)


def open_store(folder: Path, clock: Clock, hand_over: HandOver | None = None) -> Database:
    """The store of this folder; a new one gets its marker, like `rackwright init` does.

    Args:
        folder: Holds rackwright.db and marker.
        clock: For journal and audit.
        hand_over: Where opened operations go; None: nowhere.
    """
    new = not (folder / "rackwright.db").exists()
    database = Database(
        folder / "rackwright.db",
        marker=folder / "marker",
        cipher=MaskingCipher(),
        seal=partial(link, signer=DigestSigner()),
        clock=clock,
        hand_over=hand_over or (lambda _connection, _operation, _server: None),
        busy_timeout=Seconds(10.0),
    )
    if new:
        database.generation.first_marker()
    return database


def operation(
    kind: Intent, *, steps: tuple[str, ...] = ("off",), who: str = "test"
) -> NewOperation:
    """A new one of this kind."""
    identifier = OperationId(str(uuid.uuid4()))
    return NewOperation(id=identifier, kind=kind, steps_name=f"{kind}/1", steps=steps, who=who)


def follow(
    record: OperationRecord, outcome: Outcome
) -> Callable[[ServerRecord], NewOperation] | None:
    """ports.FollowUp by the table alone."""
    kind = FOLLOWS.get((record.kind, outcome.ending))
    return None if kind is None else lambda _server: operation(kind, who=record.who)


_numbers = itertools.count(1)


def new_server(name: str, *, pool: str = "a") -> ServerRecord:
    """A server as it is enrolled, unlike any other."""
    number = next(_numbers)
    return ServerRecord(
        name=ServerName(name),
        pool=PoolName(pool),
        state=State.ENROLLED,
        epoch=Epoch(0),
        dirty=False,
        power=PowerReading(power=Power.UNKNOWN, at=MonotonicSeconds(0.0), source="enrolment"),
        firmware=FirmwareMode.UEFI,
        controller=ControllerAddress(
            protocol=ControllerProtocol.REDFISH,
            host=f"bmc{number}.example.org",
            port=443,
            user="admin",
        ),
        nics=(
            Nic(
                mac=MacAddress(f"52:54:00:00:{number // 256:02x}:{number % 256:02x}"),
                roles=frozenset({MacRole.PROVISIONING, MacRole.TENANT}),
                port=f"tap-{name}",
            ),
        ),
        root_disk=RootDiskRule(smallest_nvme=True),
    )


def inventory(uuid_text: str, mac: str, *, threads: int = 8, gpus: int = 0) -> Inventory:
    """What an agent would find in it."""
    gpu = {"pci_class": "030200", "vendor": "10de", "device": "2335"}
    return Inventory(
        system=System(uuid=uuid_text, serial="S1", manufacturer="Example", product="One"),
        firmware=Firmware(mode="uefi"),
        cpu=Cpu(vendor="Example", model="One", sockets=1, threads=threads),
        memory_bytes=64 * 2**30,
        disks=(
            Disk(
                name="nvme0n1",
                path="/dev/nvme0n1",
                serial=f"D-{uuid_text[:8]}",
                wwn=None,
                model="Example",
                firmware="1",
                bytes=2**40,
                logical_sector_bytes=512,
                physical_sector_bytes=512,
                rotational=False,
                removable=False,
                read_only=False,
                transport=Transport.NVME,
                has_partition_table=False,
            ),
        ),
        nics=(Card(name="eth0", mac=mac, driver="mlx5_core", link=True),),
        pci=tuple(PciFunction(address=f"0000:{n + 1:02x}:00.0", **gpu) for n in range(gpus)),
    )


def replace_disks(facts: Inventory, **fields: Any) -> Inventory:  # noqa: ANN401 of Disk
    """The same, but for these fields of each of its disks."""
    return replace(facts, disks=tuple(replace(each, **fields) for each in facts.disks))


def enrol(database: Database, name: str, *, pool: str = "a") -> ServerRecord:
    """A server that nobody has touched yet."""
    record = new_server(name, pool=pool)
    database.servers.enrol(record, Secret(f"password of {name}"))
    return database.servers.server(record.name)


def make_available(
    database: Database, name: str, *, pool: str = "a", threads: int = 8, gpus: int = 0
) -> ServerName:
    """Enrolled, verified, inspected and cleaned with evidence: by the moves, as in real life."""
    server = enrol(database, name, pool=pool)
    now = WallSeconds(1.0)
    database.operations.open(server.name, operation(Intent.VERIFY), now=now)
    text = str(uuid.uuid4())
    database.servers.change(server.name, identity=ControllerIdentity(system_uuid=text))
    close(database, server.name)
    facts = inventory(text, server.nics[0].mac, threads=threads, gpus=gpus)
    database.servers.change(server.name, baseline=facts)
    close(database, server.name)
    wipe(database, server.name)
    return server.name


def running(database: Database, server: ServerName) -> OperationRecord:
    """The operation that is open on this server."""
    return database.operations.operations(open_only=True, server=server)[0]


def close(
    database: Database,
    server: ServerName,
    outcome: Outcome = DONE,
    *,
    now: float = 2.0,
) -> None:
    """End what runs on this server."""
    record = running(database, server)
    database.operations.close(record.id, outcome, follow(record, outcome), now=WallSeconds(now))


def wipe(database: Database, server: ServerName) -> str:
    """Let the running clean or release end with evidence; answers the record's id."""
    record = running(database, server)
    identifier = database.evidence.append_and_clean(record.id, {"server": server})
    close(database, server)
    return identifier


def pool(name: str = "a", **requirements: int) -> Pool:
    """A pool with one image, and what it requires."""
    images = {"tiny": ImageName("tiny")}
    wanted = Requirements(**requirements)
    return Pool(name=PoolName(name), images=images, requirements=wanted)


HOST = HostLabel("pool-a")


def instance_request(
    instance: str | None = None, *, site: str = "lab", pool_name: str | None = "a"
) -> InstanceRequest:
    """What a verb asks; without `instance` for one that was never heard of."""
    key = InstanceKey(site=SiteName(site), instance=InstanceId(instance or str(uuid.uuid4())))
    wanted = PoolName(pool_name) if pool_name else None
    network = TenantNetwork(
        nic_uuid=str(uuid.uuid4()), mac=MacAddress("02:01:00:00:00:01"), vlan=Vlan(101)
    )
    return InstanceRequest(
        key=key,
        name="i-2-7-VM",
        who="lab",
        pool=wanted,
        host=HOST,
        image="tiny",
        networks=(network,),
    )


def _digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


def _mask(purpose: str, length: int) -> bytes:
    blocks = (hashlib.sha256(f"{purpose} {n}".encode()).digest() for n in itertools.count())
    return b"".join(itertools.islice(blocks, length // 32 + 1))[:length]
