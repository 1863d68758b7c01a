"""Bare metal in memory, for the verbs: the architecture's rules without hardware or database."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from provisioner.errors import (
    ConflictError,
    ErrorCode,
    InputError,
    OperatorError,
    RackwrightError,
    TransientError,
)
from provisioner.ports.clock import Clock
from provisioner.ports.controllers import PowerAct
from provisioner.ports.machines import Answer, Certify, Reserved, as_it_is
from provisioner.servers.allocation import (
    InstanceKey,
    InstanceRequest,
    InstanceView,
    Phase,
    Protection,
)
from provisioner.servers.model import Power
from provisioner.units import (
    HostLabel,
    ImageName,
    MacAddress,
    PoolName,
    Seconds,
    ServerName,
    SiteName,
    WallSeconds,
)


@dataclass(slots=True, kw_only=True)
class FakePool:
    """Free servers, the first by name is given out, and the images that may run on them."""

    free: list[ServerName]
    images: Mapping[str, ImageName]


@dataclass(slots=True, kw_only=True)
class _Kept:
    server: ServerName
    pool: PoolName
    phase: Phase = Phase.RESERVED
    wanted: Power = Power.UNKNOWN
    power: Power = Power.OFF
    known: bool = False
    ready_at: float = 0.0
    vlans: tuple[int, ...] = ()
    name: str = ""
    host: HostLabel | None = None
    size: str = ""


@dataclass(slots=True)
class FakeMachines:
    """ports.Machines; takes its time, refuses and forgets as it is told.

    Attributes:
        install: How long an installation takes.
        failures: Raised by the next calls of `deploy`, one each.
        calls: Every call, as "deploy" or "power off", with the instance, in order.
        deployed: Requests that led to an installation: one an instance, whatever was repeated.
    """

    clock: Clock
    pools: Mapping[PoolName, FakePool]
    install: float = 0.0
    failures: list[RackwrightError] = field(default_factory=list)
    calls: list[tuple[str, InstanceKey]] = field(default_factory=list)
    deployed: list[InstanceRequest] = field(default_factory=list)
    _kept: dict[InstanceKey, _Kept] = field(default_factory=dict)
    _deleted: set[InstanceKey] = field(default_factory=set)

    async def reserve(self, request: InstanceRequest) -> Reserved:
        """Keep the first free server by name."""
        self.calls.append(("reserve", request.key))
        kept = self._keep(request)
        own = zlib.crc32(kept.server.encode()) & 0xFFFF
        macs = {
            network.nic_uuid: MacAddress(f"52:54:00:{own >> 8:02x}:{own & 255:02x}:{number:02x}")
            for number, network in enumerate(request.networks)
        }
        return Reserved(server=kept.server, macs=macs)

    async def deploy(
        self, request: InstanceRequest, *, until: WallSeconds, certify: Certify = as_it_is
    ) -> Answer:
        """Install within `install`, or attach to what is being installed."""
        self.calls.append(("deploy", request.key))
        if self.failures:
            raise self.failures.pop(0)
        known = self._kept.get(request.key)
        if known is None or known.phase is Phase.RESERVED:
            request = await certify(request, None)
        kept = self._keep(request)
        if kept.phase is Phase.ACTIVE:
            return await self.power(request, PowerAct.ON, until=until, certify=certify)
        if kept.phase is Phase.RESERVED:
            self._image(request)
            kept.vlans, kept.name, kept.host = _vlans(request), request.name, request.host
            kept.size = request.size
            kept.phase, kept.wanted = Phase.DEPLOYING, Power.ON
            kept.ready_at = self.clock.wall() + self.install
            self.deployed.append(request)
        await self.clock.sleep(Seconds(min(kept.ready_at, until) - self.clock.wall()))
        if self.clock.wall() < kept.ready_at:
            raise TransientError(ErrorCode.DEADLINE, "still installing: ask again")
        kept.phase, kept.power, kept.known = Phase.ACTIVE, Power.ON, True
        return Answer(text=f"running on {kept.server}")

    async def power(
        self,
        request: InstanceRequest,
        act: PowerAct,
        *,
        until: WallSeconds,
        certify: Certify = as_it_is,
    ) -> Answer:
        """Switch what is installed; a stop of anything else touches nothing."""
        del until
        self.calls.append((f"power {act}", request.key))
        kept = self._kept.get(request.key)
        if act in {PowerAct.OFF, PowerAct.SOFT_OFF}:
            if kept is None or not kept.known:
                return Answer(text="nothing to stop")
            kept.wanted = kept.power = Power.OFF
            return Answer(text="off")
        if request.key in self._deleted:
            raise ConflictError(ErrorCode.INSTANCE_ENDED, "its server was given back")
        if kept is None or kept.phase is not Phase.ACTIVE:
            raise ConflictError(ErrorCode.INSTANCE_UNKNOWN, "nothing is installed for it")
        if act is PowerAct.ON:
            request = await certify(request, kept.size)
        kept.vlans, kept.host = _vlans(request), request.host
        kept.wanted = kept.power = Power.ON
        return Answer(text="on")

    async def release(
        self,
        key: InstanceKey,
        who: str,
        *,
        until: WallSeconds,
        protection: Protection = Protection.NOT_ASKED,
    ) -> Answer:
        """Leave a tombstone; the server is free at once."""
        del who, until, protection
        self.calls.append(("release", key))
        self._deleted.add(key)
        kept = self._kept.pop(key, None)
        if kept is None:
            return Answer(text="no server to give back")
        self.pools[kept.pool].free.append(kept.server)
        return Answer(text="off is confirmed; the wipe follows")

    async def observe(self, key: InstanceKey) -> InstanceView:
        """As if the controller had been read long enough."""
        self.calls.append(("observe", key))
        if key in self._deleted:
            return InstanceView(phase=Phase.ENDED, known_to_caller=True, off_confirmed=True)
        kept = self._kept.get(key)
        if kept is None:
            return InstanceView(phase=None)
        return InstanceView(
            phase=kept.phase,
            known_to_caller=kept.known,
            wanted=kept.wanted,
            on_confirmed=kept.power is Power.ON,
            off_confirmed=kept.power is Power.OFF,
            fresh=True,
        )

    async def observe_host(self, site: SiteName, host: HostLabel) -> Mapping[str, InstanceView]:
        """All that it has there; one that never said its host makes the rest doubtful."""
        here = {key: kept for key, kept in self._kept.items() if key.site == site}
        if any(kept.host is None for kept in here.values()):
            raise OperatorError(ErrorCode.CANNOT_TELL, "one has not said its host: ask one by one")
        return {k.name: await self.observe(key) for key, k in here.items() if k.host == host}

    def vlans(self, key: InstanceKey) -> tuple[int, ...]:
        """Where the ports of its server lead."""
        return self._kept[key].vlans

    def _keep(self, request: InstanceRequest) -> _Kept:
        if request.key in self._deleted:
            raise ConflictError(ErrorCode.INSTANCE_DELETED, "this instance was deleted")
        if request.key in self._kept:
            return self._kept[request.key]
        pool = self._pool(request)
        if request.image is not None:
            self._image(request)
        if not pool.free:
            raise TransientError(ErrorCode.NO_CAPACITY, f"pool {request.pool} has no free server")
        server = min(pool.free)
        pool.free.remove(server)
        assert request.pool is not None
        return self._kept.setdefault(request.key, _Kept(server=server, pool=request.pool))

    def _pool(self, request: InstanceRequest) -> FakePool:
        if request.pool is None:
            raise InputError(ErrorCode.POOL_MISSING, "the host names no pool")
        if request.pool not in self.pools:
            raise InputError(ErrorCode.POOL_UNKNOWN, f"there is no pool {request.pool}")
        return self.pools[request.pool]

    def _image(self, request: InstanceRequest) -> ImageName:
        if request.image is None:
            raise InputError(ErrorCode.IMAGE_MISSING, "the template names no image")
        images = self._pool(request).images
        if request.image not in images:
            raise InputError(ErrorCode.IMAGE_UNKNOWN, f"pool {request.pool} has no such image")
        return images[request.image]


def _vlans(request: InstanceRequest) -> tuple[int, ...]:
    vlans = tuple(int(network.vlan) for network in request.networks if network.vlan is not None)
    if len(vlans) < len(request.networks) or not vlans:
        raise InputError(ErrorCode.VLAN_MISSING, "a network without a VLAN")
    return vlans
