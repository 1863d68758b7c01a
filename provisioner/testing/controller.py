"""A controller and the machine behind it, in memory: takes time, refuses, and lies as told."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace

from provisioner.errors import ErrorCode, OperatorError, TransientError
from provisioner.ports.clock import Clock
from provisioner.ports.controllers import BootDevice, BootSetting, PowerAct
from provisioner.secret import Secret
from provisioner.servers.controller_media import NamedMedium
from provisioner.servers.model import (
    ControllerAddress,
    ControllerDriver,
    ControllerIdentity,
    ControllerProtocol,
    FirmwareMode,
    Power,
)
from provisioner.units import Seconds

FOR_EVER = Seconds(1e9)
NO_BOOT = BootSetting(device=None)


@dataclass(slots=True, kw_only=True)
class FakeMachine:
    """One machine: what it is, how it behaves when told to, and what was done to it.

    Attributes:
        drivers: The libraries that it answers; another one finds nobody there.
        systems: Redfish: the systems that it offers.
        latency_s: Of each call.
        power_takes_s: From an accepted button to the state.
        soft_off_takes_s: None: the operating system ignores the button.
        silent: Nobody answers; a caller notices after `gives_up_s`.
        stuck: It takes a call and never answers.
        nonsense: It answers what nobody understands.
        busy: So many calls are refused first, each to be asked again.
        refuses: Calls that are refused for good, by the name of the method.
        deaf_to: Buttons that are accepted and do nothing.
        reports_boot: False: it keeps the boot setting to itself.
        misreports_boot: It accepts a boot device and reports the other one.
        media: The drives that it names; None: it keeps no list.
        started: What its firmware says of a running system; None: nothing.
        console: What its serial console says before it falls silent.
        calls: What was asked, in order.
        password_tries: How often a wrong password was tried.
        open_at_once: The most conversations that were open at the same time.
        booted_from: The device of each start; None where no override was set.
        on_power: Called with the new state whenever the power moves.
    """

    clock: Clock
    identity: ControllerIdentity
    user: str = "admin"
    password: str = "s3cret"  # noqa: S105
    power: Power = Power.OFF
    boot: BootSetting = NO_BOOT
    nonce: bytes | None = None
    stays_off: bool = False
    drivers: frozenset[ControllerDriver] = frozenset(ControllerDriver)
    systems: tuple[str, ...] = ("1",)
    cipher_suite: int = 17

    latency_s: float = 0.05
    power_takes_s: float = 2.0
    soft_off_takes_s: float | None = 6.0
    gives_up_s: float = 5.0
    silent: bool = False
    stuck: bool = False
    nonsense: bool = False
    busy: int = 0
    refuses: set[str] = field(default_factory=set)
    deaf_to: set[PowerAct] = field(default_factory=set)
    reports_boot: bool = True
    misreports_boot: bool = False
    media: tuple[NamedMedium, ...] | None = None
    started: bool | None = None
    console: tuple[bytes, ...] = ()

    calls: list[str] = field(default_factory=list)
    password_tries: int = 0
    open_now: int = 0
    open_at_once: int = 0
    booted_from: list[BootDevice | None] = field(default_factory=list)
    on_power: list[Callable[[Power], None]] = field(default_factory=list)
    _pending: tuple[float, Power] | None = None

    def settled(self) -> Power:
        """Its power now; a button that was pressed may have come to its end."""
        if self._pending and self.clock.monotonic() >= self._pending[0]:
            wanted, self._pending = self._pending[1], None
            self._move(wanted)
        return self.power

    def press(self, act: PowerAct) -> None:
        """As a hand would, or the controller."""
        self.settled()
        takes = self.soft_off_takes_s if act is PowerAct.SOFT_OFF else self.power_takes_s
        if act in self.deaf_to or takes is None:
            return
        if act is PowerAct.CYCLE:
            self._move(Power.OFF)
        wanted = Power.ON if act in {PowerAct.ON, PowerAct.CYCLE} else Power.OFF
        self._pending = (self.clock.monotonic() + takes, wanted)

    def _move(self, wanted: Power) -> None:
        if wanted is self.power:
            return
        self.power = wanted
        if wanted is Power.ON:
            self.booted_from.append(self.boot.device)
            self.boot = NO_BOOT
        for told in self.on_power:
            told(wanted)


class FakeControllers:
    """ports.Controllers over machines in memory; an unknown address answers nobody.

    Attributes:
        machines: By host and port.
    """

    def __init__(self, clock: Clock) -> None:
        self.machines: dict[tuple[str, int], FakeMachine] = {}
        self._clock = clock

    def add(self, host: str, machine: FakeMachine, port: int = 623) -> FakeMachine:
        """Put a machine behind an address."""
        self.machines[host, port] = machine
        return machine

    def open(
        self,
        address: ControllerAddress,
        password: Secret,
        driver: ControllerDriver,
        *,
        certificate_sha256: str | None,
    ) -> "FakeController":
        """No call goes out yet."""
        machine = self.machines.get((address.host, address.port))
        if machine is None:
            nobody = ControllerIdentity(system_uuid=None)
            machine = FakeMachine(clock=self._clock, identity=nobody, silent=True)
        return FakeController(machine, address, password, driver, certificate_sha256)


class FakeController:
    """ports.Controller and all its faces, in front of a FakeMachine."""

    def __init__(
        self,
        machine: FakeMachine,
        address: ControllerAddress,
        password: Secret,
        driver: ControllerDriver,
        certificate_sha256: str | None,
    ) -> None:
        self._machine, self._address, self._driver = machine, address, driver
        self._password, self._pin = password, certificate_sha256
        self._open = False

    async def identity(self) -> ControllerIdentity:
        """As told."""
        machine = await self._asked("identity", "identity")
        return machine.identity

    async def read_power(self) -> Power:
        """The state that the last button has led to by now."""
        machine = await self._asked("read_power", "read power")
        return machine.settled()

    async def press(self, act: PowerAct) -> None:
        """Accepted; it happens later, or never."""
        machine = await self._asked("press", f"power {act}")
        machine.press(act)

    async def set_boot_once(self, device: BootDevice, mode: FirmwareMode) -> None:
        """For the next start."""
        machine = await self._asked("set_boot_once", f"boot {device} {mode}")
        machine.boot = BootSetting(device=device, once=True, mode=mode)

    async def read_boot(self) -> BootSetting:
        """As set, as told, or nothing."""
        machine = await self._asked("read_boot", "read boot")
        if not machine.reports_boot:
            return NO_BOOT
        if machine.misreports_boot:
            other = {BootDevice.NETWORK: BootDevice.DISK, BootDevice.DISK: BootDevice.NETWORK}
            device = machine.boot.device
            return replace(machine.boot, device=other[device] if device else None)
        return machine.boot

    async def stay_off(self) -> None:
        """Remembered."""
        machine = await self._asked("stay_off", "stay off")
        machine.stays_off = True

    async def has_started(self) -> bool | None:
        """As told."""
        machine = await self._asked("has_started", "boot progress")
        return machine.started

    async def media(self) -> tuple[NamedMedium, ...]:
        """As told."""
        machine = await self._asked("media", "read media")
        if machine.media is None:
            raise OperatorError(ErrorCode.CONTROLLER_REFUSED, "the controller lists no drives")
        return machine.media

    async def leave_nonce(self, nonce: bytes) -> str:
        """Kept in memory, where a fake agent can read it."""
        machine = await self._asked("leave_nonce", "leave nonce")
        machine.nonce = nonce
        return "media" if self._address.protocol is ControllerProtocol.REDFISH else "ipmi-sel"

    async def remove_nonce(self) -> None:
        """Gone."""
        machine = await self._asked("remove_nonce", "remove nonce")
        machine.nonce = None

    async def stream(self) -> AsyncIterator[bytes]:
        """What it was told to say, then the end."""
        machine = await self._asked("stream", "console")
        for part in machine.console:
            await machine.clock.sleep(Seconds(machine.latency_s))
            yield part

    def found_address(self) -> ControllerAddress:
        """With the cipher suite or the system that it answers."""
        if self._address.protocol is ControllerProtocol.IPMI:
            return replace(self._address, cipher_suite=self._machine.cipher_suite)
        return replace(self._address, system=self._address.system or self._machine.systems[0])

    async def close(self) -> None:
        """Safe to repeat."""
        if self._open:
            self._open = False
            self._machine.open_now -= 1

    async def _asked(self, method: str, text: str) -> FakeMachine:
        machine = self._machine
        if not self._open:
            self._open = True
            machine.open_now += 1
            machine.open_at_once = max(machine.open_at_once, machine.open_now)
        machine.calls.append(text)
        await machine.clock.sleep(Seconds(machine.latency_s))
        await self._reached(machine)
        self._known(machine)
        if machine.busy:
            machine.busy -= 1
            raise TransientError(ErrorCode.CONTROLLER_BUSY, "the controller is busy")
        if method in machine.refuses:
            raise OperatorError(ErrorCode.CONTROLLER_REFUSED, f"the controller refuses: {text}")
        return machine

    async def _reached(self, machine: FakeMachine) -> None:
        if machine.stuck:
            await machine.clock.sleep(FOR_EVER)
        if machine.silent or self._driver not in machine.drivers:
            await machine.clock.sleep(Seconds(machine.gives_up_s))
            raise TransientError(ErrorCode.CONTROLLER_UNREACHABLE, "the controller does not answer")
        if machine.nonsense:
            raise OperatorError(ErrorCode.CONTROLLER_NONSENSE, "the controller answers nonsense")

    def _known(self, machine: FakeMachine) -> None:
        """In the order of a real one: the certificate before the password."""
        if self._pin not in {None, machine.identity.certificate_sha256}:
            raise OperatorError(
                ErrorCode.CONTROLLER_CERTIFICATE, "the controller shows another certificate"
            )
        given = (self._address.user, self._password.reveal())
        if given != (machine.user, machine.password):
            machine.password_tries += 1
            raise OperatorError(
                ErrorCode.CONTROLLER_PASSWORD, "the controller refuses the password"
            )
        named = self._address.system
        if (named and named not in machine.systems) or (not named and len(machine.systems) != 1):
            raise OperatorError(
                ErrorCode.CONTROLLER_SYSTEMS,
                f"the controller offers {len(machine.systems)} systems: name one",
            )
