"""What a world of the tests is given: settings, an image, doubles that die or watch as told."""

from collections import defaultdict
from pathlib import Path

from provisioner.config import Times
from provisioner.ports.catalogue import ImageRecord
from provisioner.ramdisk.record import RamdiskRecord
from provisioner.servers.model import Placement, PortPlacement
from provisioner.servers.turns import Pace
from provisioner.testing import store
from provisioner.testing.ports import FakePorts

TIMES = Times(
    agent_call_in_s=60.0,
    proof_of_life_s=60.0,
    proof_settle_s=20.0,
    wipe_off_s=30.0,
    soft_off_s=20.0,
)
PACE = Pace()
RAMDISK = RamdiskRecord(
    digest="d" * 64,
    lock_digest="l" * 64,
    kernel_version="6.1",
    kernel_sha256="k" * 64,
    kernel_bytes=1,
    initrd_sha256="i" * 64,
    initrd_bytes=1,
    unpacked_bytes=1,
    modules=1,
    added=(),
)
IMAGE_BYTES = 8 * 2**20
ONE = "11111111-1111-1111-1111-111111111111"
REQUEST = store.instance_request(ONE)


class Killed(BaseException):
    """The service's process died in this moment."""


class Kept:
    """Consoles and the like, in memory."""

    def __init__(self):
        self.files = defaultdict(bytes)

    def append(self, operation, name, content):
        self.files[operation, name] += content

    def read(self, operation, name):
        return self.files[operation, name]

    def names(self, operation):
        return tuple(sorted(name for of, name in self.files if of == operation))


class WatchedPorts(FakePorts):
    """Ports that keep an eye on what must never happen."""

    def __init__(self, told):
        super().__init__()
        self._told = told

    async def place(self, port, wanted):
        await super().place(port, wanted)
        self._told(port, wanted)


class Calls:
    """The journal, in memory; the service may die at any call."""

    def __init__(self, operations):
        self._operations = operations
        self.made = []
        self.die_at = None

    @property
    def count(self):
        return len(self.made)

    def call(self, server, door, text, outcome):
        """A call belongs to what began last on its server."""
        running = self._operations.get(server)
        self.made.append((server, running, f"{door}: {text}", outcome))
        if self.count == self.die_at:
            raise Killed


class Effects:
    """The effects' records; the service may die before the end of a step is on record.

    `at_begin` has what happens outside when a step has begun.
    """

    def __init__(self, effects):
        self._effects = effects
        self.die_after = {}
        self.at_begin = {}

    def __getattr__(self, name):
        return getattr(self._effects, name)

    def begin(self, operation, step, **more):
        effect = self._effects.begin(operation, step, **more)
        if step in self.at_begin:
            self.at_begin.pop(step)()
        return effect

    def finish(self, operation, step, result, *, now):
        if self.die_after.get(step):
            self.die_after[step] -= 1
            raise Killed
        self._effects.finish(operation, step, result, now=now)


def tenant(*vlans):
    return placed(Placement.TENANT, vlans)


def placed(placement, vlans=()):
    return PortPlacement(placement=placement, vlans=tuple(vlans))


async def make_seed(request, server, sector_bytes):
    return f"seed of {request.key.instance} on {server.nics[0].mac}".encode()


def image(folder: Path):
    """An imported image, as far as operations look at it."""
    for name in ("blocks.json", "image.raw"):
        (folder / name).touch()
    return ImageRecord(
        name="tiny",
        root="r" * 64,
        image_bytes=IMAGE_BYTES,
        data_bytes=4 * 2**20,
        block_bytes=4 * 2**20,
        logical_sector_bytes=512,
        source_format="raw",
        imported_at=1.0,
        folder=folder,
    )
