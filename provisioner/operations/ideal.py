"""An outside that does as it is told: what a rehearsal walks through. Holds no resource.

Product code, not a test's double: a dry run needs an outside without faults, and steps that
cannot tell it from the real one.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

from provisioner.operations.bell import Bell
from provisioner.operations.consoles import Consoles
from provisioner.operations.conversation import default_driver
from provisioner.operations.doors import Records
from provisioner.operations.ideal_agent import IdealAgent
from provisioner.ports.controllers import BootDevice, BootSetting, Controller, PowerAct
from provisioner.ports.journal import CallJournal
from provisioner.secret import Secret
from provisioner.servers.allocation import Allocation
from provisioner.servers.controller_media import NamedMedium
from provisioner.servers.model import (
    ControllerAddress,
    ControllerDriver,
    ControllerIdentity,
    FirmwareMode,
    Placement,
    PortPlacement,
    Power,
    ServerRecord,
)
from provisioner.servers.operation import AgentOrder, Effect, OperationRecord
from provisioner.units import (
    MacAddress,
    MonotonicSeconds,
    OperationId,
    Seconds,
    ServerName,
    WallSeconds,
)


@dataclass(slots=True)
class IdealClock:
    """Waiting takes no time; it only makes it later."""

    now: float

    def wall(self) -> WallSeconds:
        """As if all waits had been waited."""
        return WallSeconds(self.now)

    def monotonic(self) -> MonotonicSeconds:
        """The same."""
        return MonotonicSeconds(self.now)

    async def sleep(self, duration: Seconds) -> None:
        """At once."""
        self.now += duration


@dataclass(slots=True)
class IdealController:
    """Begins where the server was last seen."""

    server: ServerRecord
    power: Power

    async def identity(self) -> ControllerIdentity:
        """The one that is remembered; before there is one, some machine that has a name."""
        return self.server.identity or ControllerIdentity(system_uuid=None, serial="rehearsal")

    async def read_power(self) -> Power:
        """As the buttons left it."""
        return self.power

    async def press(self, act: PowerAct) -> None:
        """Does it."""
        self.power = Power.OFF if act in {PowerAct.OFF, PowerAct.SOFT_OFF} else Power.ON

    async def set_boot_once(self, device: BootDevice, mode: FirmwareMode) -> None:
        """Accepted."""

    async def read_boot(self) -> BootSetting:
        """Says nothing: then nothing is read twice."""
        return BootSetting(device=None)

    async def close(self) -> None:
        """Nothing to close."""

    async def leave_nonce(self, nonce: bytes) -> str:
        """Kept."""
        del nonce
        return "ipmi-sel" if self.server.driver is not ControllerDriver.SUSHY else "media"

    async def remove_nonce(self) -> None:
        """Gone."""

    async def stay_off(self) -> None:
        """Accepted."""


class IdealRedfish(IdealController):
    """Redfish has boot progress and a list of drives; its consoles are not read yet."""

    __slots__ = ()

    async def media(self) -> tuple[NamedMedium, ...]:
        """None that the machine does not show."""
        return ()

    async def has_started(self) -> bool | None:
        """The operating system runs."""
        return True


class IdealIpmi(IdealController):
    """IPMI has serial over LAN."""

    __slots__ = ()

    async def stream(self) -> AsyncIterator[bytes]:
        """A login prompt, then the end."""
        yield b"login: "


class IdealControllers:
    """One server's, whose power is remembered from conversation to conversation."""

    def __init__(self, server: ServerRecord) -> None:
        known = server.power.power is Power.ON
        driver = server.driver or default_driver(server.controller.protocol)
        kind = IdealRedfish if driver is ControllerDriver.SUSHY else IdealIpmi
        self._controller = kind(server=server, power=Power.ON if known else Power.OFF)

    def switch_off(self) -> None:
        """The machine went off by itself."""
        self._controller.power = Power.OFF

    def open(
        self,
        address: ControllerAddress,
        password: Secret,
        driver: ControllerDriver,
        *,
        certificate_sha256: str | None,
    ) -> Controller:
        """Always the same one."""
        del address, password, driver, certificate_sha256
        return self._controller


@dataclass(slots=True)
class IdealPorts:
    """Ports lead where they were sent."""

    placed: dict[str, PortPlacement] = field(default_factory=dict)

    async def read(self, port: str) -> PortPlacement:
        """As placed."""
        return self.placed.get(port, PortPlacement(placement=Placement.QUARANTINE))

    async def place(self, port: str, wanted: PortPlacement) -> None:
        """Placed."""
        self.placed[port] = wanted


class IdealOffers:
    """Nobody is offered anything."""

    async def offer(self, mac: MacAddress, server: ServerName) -> None:
        """Noted by the step."""

    async def withdraw(self, mac: MacAddress) -> None:
        """Noted by the step."""

    async def lines(self, mac: MacAddress, since: WallSeconds) -> tuple[str, ...]:
        """None."""
        del mac, since
        return ()


class IdealBell(Bell):
    """Everything has arrived already."""

    def __init__(self) -> None:
        self.heard_at = {}

    def ring(self, operation: OperationId, what: str) -> None:
        """Nobody waits."""

    def heard(self, operation: OperationId) -> None:
        """Nobody is missed."""

    def closed(self, operation: OperationId) -> None:
        """Nobody waits."""

    async def wait(self, operation: OperationId, what: str, *, until: MonotonicSeconds) -> bool:
        """At once."""
        del operation, what, until
        return True


class IdealConsoles(Consoles):
    """A console with a login prompt, wherever one is listened to."""

    def __init__(self) -> None:
        self.text = b""
        super().__init__(kept=self)

    def append(self, operation: OperationId, name: str, content: bytes) -> None:
        """Remember it."""
        del operation, name
        self.text += content

    def read(self, operation: OperationId, name: str) -> bytes:
        """What was said so far."""
        del operation, name
        return self.text


@dataclass(slots=True)
class IdealRecords:
    """A store that forgets everything at the end; pools and images are the real ones."""

    server: ServerRecord
    operation: OperationRecord
    allocation: Allocation | None
    agent: IdealAgent
    real: Records
    found: dict[str, dict[str, Any]] = field(default_factory=dict)
    _orders: dict[str, AgentOrder] = field(default_factory=dict)
    _effects: list[Effect] = field(default_factory=list)

    def done(self, effect: Effect) -> None:
        """A step has ended."""
        self._effects.append(effect)

    def as_records(self, calls: CallJournal) -> SimpleNamespace:
        """Only what steps ask of the store, under the same names."""
        return SimpleNamespace(
            servers=SimpleNamespace(
                server=lambda _name: self.server,
                password=lambda _name: Secret(""),
                note_readings=_forget,
                change=self._change,
            ),
            allocations=SimpleNamespace(
                mark=_forget,
                confirm_off=_forget,
                by_id=lambda _id: self.allocation,
                last_tenant=_forget,
            ),
            operations=SimpleNamespace(operation=lambda _id: self.operation, note=_forget),
            effects=SimpleNamespace(effects=lambda _id: tuple(self._effects)),
            boots=SimpleNamespace(open_boot=_forget, change_boot=_forget),
            orders=SimpleNamespace(put_order=self._put, order=self._order),
            seeds=SimpleNamespace(seed=lambda _id: b"", drop_seed=_forget),
            evidence=SimpleNamespace(append_and_clean=lambda _id, _document: "rehearsed"),
            catalogue=self.real.catalogue,
            calls=calls,
            turns=SimpleNamespace(take=_forget),
        )

    def _change(self, _name: ServerName, **fields: Any) -> None:  # noqa: ANN401
        self.server = replace(self.server, **fields)

    def _put(self, order: AgentOrder) -> AgentOrder:
        nonce = str(self.found.get("network-first", {}).get("nonce", ""))
        result = self.agent.result(order, nonce)
        return self._orders.setdefault(order.step, replace(order, ok=True, result=result))

    def _order(self, operation: OperationId, step: str) -> AgentOrder | None:
        if step == "hello" and step not in self._orders:
            self._put(_hello(operation, self.operation))
        return self._orders.get(step)


def _hello(operation: OperationId, record: OperationRecord) -> AgentOrder:
    return AgentOrder(
        operation=operation,
        step="hello",
        number=0,
        epoch=record.epoch,
        kind="hello",
        parameters={},
    )


def _forget(*_arguments: object, **_fields: object) -> None:
    """Written nowhere."""
