"""Conversations with controllers: one at a time, with the right machine, until it is so."""

import asyncio
import contextlib
import logging
import random
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

from provisioner.errors import ErrorCode, OperatorError, RackwrightError, TransientError
from provisioner.operations import call_texts
from provisioner.operations.breaker import Breaker
from provisioner.operations.buttons import OFF, Allowed, Button, Buttons
from provisioner.operations.controller_calls import ControllerCalls
from provisioner.ports.clock import Clock
from provisioner.ports.controllers import (
    AddressFinder,
    BootDevice,
    BootProgress,
    BootSetting,
    ConsoleSource,
    Controller,
    Controllers,
    MediaLister,
    NonceKeeper,
    PowerAct,
    RestorePolicy,
)
from provisioner.ports.journal import CallJournal
from provisioner.secret import Secret
from provisioner.servers.controller_media import NamedMedium
from provisioner.servers.identity import differences
from provisioner.servers.model import (
    ControllerAddress,
    ControllerDriver,
    ControllerIdentity,
    ControllerProtocol,
    Power,
    PowerReading,
    ServerRecord,
)
from provisioner.units import MonotonicSeconds, Seconds

log = logging.getLogger(__name__)
T = TypeVar("T")

CALL_LIMIT = Seconds(20.0)
"""No controller gets longer for one call, whatever its library waits for."""
CLOSE_LIMIT = Seconds(5.0)
MEDIA_LIMIT = Seconds(120.0)
"""One request a drive, a second each on slow controllers, and up to a hundred drives."""
BOOT_READ_S, LOOK_AGAIN = 10.0, Seconds(0.5)
"""How long a controller may take to report the boot device that it accepted."""


@dataclass(slots=True)
class _Line:
    """One controller, whoever speaks to it."""

    breaker: Breaker
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


class Conversations:
    """All conversations of one service; belongs to one event loop.

    Args:
        controllers: Makes the controllers.
        clock: Time.
        journal: Gets every call.
        call_limit: For one call.
        jitter: From 0 to 1.
    """

    def __init__(
        self,
        controllers: Controllers,
        clock: Clock,
        journal: CallJournal,
        *,
        call_limit: Seconds = CALL_LIMIT,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._controllers, self._clock, self._journal = controllers, clock, journal
        self._call_limit, self._jitter = call_limit, jitter
        self._lines: dict[tuple[str, int], _Line] = {}

    @contextlib.asynccontextmanager
    async def to(
        self,
        server: ServerRecord,
        password: Secret,
        *,
        source: str,
        quiet: bool = False,
        turn_by: MonotonicSeconds | None = None,
    ) -> "AsyncIterator[Conversation]":
        """Wait for the controller's turn and speak with it; sessions end with the block.

        Nothing goes out before the first call, which compares the identity.

        Args:
            server: Its address, driver, identity and firmware mode.
            password: Of the address's user.
            source: Who asks; stands in readings.
            quiet: Do not journal the calls: for the readings of the power loop.
            turn_by: It must be this one's turn by then; None waits for ever.

        Raises:
            TransientError: CONTROLLER_BUSY: a call that was given up has not ended yet.
        """
        line = self._line(server.controller)
        calls = ControllerCalls(
            server=server.name,
            where=f"controller {server.controller.host}:{server.controller.port}",
            credentials=(server.controller.user, password),
            breaker=line.breaker,
            clock=self._clock,
            journal=None if quiet else self._journal,
            limit=self._call_limit,
            jitter=self._jitter,
        )
        controller = self._controllers.open(
            server.controller,
            password,
            server.driver or default_driver(server.controller.protocol),
            certificate_sha256=server.identity.certificate_sha256 if server.identity else None,
        )
        talk = Conversation(server, controller, calls, source=source)
        await self._take(line.turn, calls.where, turn_by)
        try:
            try:
                yield talk
            finally:
                await talk.close()
        finally:
            calls.when_all_ended(line.turn.release)

    async def _take(self, turn: asyncio.Lock, where: str, by: MonotonicSeconds | None) -> None:
        if by is None or not turn.locked():
            await turn.acquire()
            return
        mine = asyncio.ensure_future(turn.acquire())
        timer = asyncio.ensure_future(self._clock.sleep(Seconds(by - self._clock.monotonic())))
        try:
            await asyncio.wait({mine, timer}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            if not mine.cancel():
                turn.release()
            raise
        finally:
            timer.cancel()
        if not mine.done():
            mine.cancel()
            raise TransientError(
                ErrorCode.CONTROLLER_BUSY, f"{where} is still spoken with: its last call hangs"
            )

    def is_taken(self, server: ServerRecord) -> bool:
        """Somebody speaks with its controller now."""
        return self._line(server.controller).turn.locked()

    def left_alone(self) -> dict[str, Seconds]:
        """Controllers that nobody may ask now, and for how long."""
        return {
            f"{host}:{port}": pause
            for (host, port), line in self._lines.items()
            if (pause := line.breaker.remaining()) > 0
        }

    def _line(self, address: ControllerAddress) -> _Line:
        key = (address.host, address.port)
        if key not in self._lines:
            self._lines[key] = _Line(Breaker(self._clock, self._jitter))
        return self._lines[key]


class Conversation:
    """What an operation may ask of one controller. Made by Conversations."""

    def __init__(
        self,
        server: ServerRecord,
        controller: Controller,
        calls: ControllerCalls,
        *,
        source: str,
    ) -> None:
        self._server, self._controller, self._calls = server, controller, calls
        self._clock, self._where, self._source = calls.clock, calls.where, source
        self._introduced = False
        self._buttons = Buttons(controller, calls, look=self._look, call=self._call)

    async def identity(self, *, until: MonotonicSeconds | None = None) -> ControllerIdentity:
        """Who it says it is; the same machine as remembered.

        Raises:
            OperatorError: OTHER_MACHINE.
        """
        seen = await self._calls.make(
            call_texts.READ_IDENTITY, self._controller.identity, until=until
        )
        found = differences(self._server.identity, seen) if self._server.identity else ()
        if found:
            raise OperatorError(
                ErrorCode.OTHER_MACHINE,
                f"another machine answers at {self._where}",
                "; ".join(found),
            )
        self._introduced = True
        return seen

    async def power(self, *, until: MonotonicSeconds | None = None) -> PowerReading:
        """Its power now; UNKNOWN with the reason where it does not answer, or not until then."""
        return await self._look(until)

    async def reach_off(
        self, *, until: MonotonicSeconds, graceful: Seconds | None = None
    ) -> PowerReading:
        """Off, as read after the last button; one that is off already gets none.

        Args:
            until: When it must be so.
            graceful: How long the operating system may take by itself before it is cut off.

        Raises:
            OperatorError: POWER_NOT_REACHED, or what the controller refused for good.
            TransientError: CONTROLLER_BREAKER: it is left alone for longer than until then.
        """
        reading = await self._look(until)
        if reading.power is Power.ON and graceful is not None:
            soft_until = MonotonicSeconds(min(until, self._clock.monotonic() + graceful))
            reading = await self._buttons.softly_off(reading, soft_until)
        return await self._buttons.reach(OFF, reading, until)

    async def reach_on(self, *, until: MonotonicSeconds, allowed: Allowed) -> PowerReading:
        """On; raises like `reach_off`, and what `allowed` raises (invariant 4)."""
        button = Button(act=PowerAct.ON, leads_to=Power.ON, allowed=allowed)
        return await self._buttons.reach(button, await self._look(until), until)

    async def boot_from(self, device: BootDevice) -> BootSetting:
        """Set for the next start, with the record's firmware mode, and read back.

        Returns:
            What the controller reports; a device of None is "this one does not say".

        Raises:
            OperatorError: BOOT_DEVICE_NOT_SET: it reports another device.
        """
        mode = self._server.firmware
        await self._call(
            call_texts.boot(device, mode), lambda: self._controller.set_boot_once(device, mode)
        )
        until = self._clock.monotonic() + BOOT_READ_S
        while True:
            setting = await self._boot_setting()
            if setting.device in {None, device}:
                return setting
            if self._clock.monotonic() >= until:
                raise OperatorError(
                    ErrorCode.BOOT_DEVICE_NOT_SET,
                    f"{self._where} reports {setting.device} as boot device, not {device}",
                )
            await self._clock.sleep(LOOK_AGAIN)

    async def leave_nonce(self, nonce: bytes) -> str | None:
        """Leave it where the machine can read it; how; None where there is no such place."""
        keeper = self._controller
        if not isinstance(keeper, NonceKeeper):
            return None
        return await self._unless_refused(call_texts.LEAVE_NONCE, lambda: keeper.leave_nonce(nonce))

    async def remove_nonce(self) -> None:
        """Take it back; one that stays harms nobody."""
        keeper = self._controller
        if not isinstance(keeper, NonceKeeper):
            return
        try:
            await self._unless_refused(call_texts.REMOVE_NONCE, keeper.remove_nonce)
        except TransientError as error:
            log.info("a nonce stays: %s", error)

    async def stay_off(self) -> str:
        """Have it stay off when mains return: "stay-off", or "refused: <why>"."""
        policy = self._controller
        if not isinstance(policy, RestorePolicy):
            return f"refused: {self._where} has no power-restore policy"
        try:
            await self._call(call_texts.STAY_OFF, policy.stay_off)
        except OperatorError as error:
            if error.code is not ErrorCode.CONTROLLER_REFUSED:
                raise
            return f"refused: {error.brief}"
        return "stay-off"

    async def has_started(self) -> bool | None:
        """The operating system runs, says the firmware; None where nobody says."""
        progress = self._controller
        if not isinstance(progress, BootProgress):
            return None
        try:
            return await self._call(call_texts.READ_PROGRESS, progress.has_started)
        except TransientError:
            return None

    async def media(self) -> tuple[NamedMedium, ...] | None:
        """The drives that it names; None where it keeps no list of them."""
        lister = self._controller
        if not isinstance(lister, MediaLister):
            return None
        return await self._unless_refused(call_texts.READ_MEDIA, lister.media, longest=MEDIA_LIMIT)

    def console(self) -> AsyncIterator[bytes] | None:
        """Its serial console from now on; None where it offers none.

        Begin to listen while the conversation is open (the identity is compared first); the
        stream may outlive it. It ends when the controller ends it: open it anew after a start.
        """
        source = self._controller
        return self._listen(source) if isinstance(source, ConsoleSource) else None

    def found_address(self) -> ControllerAddress:
        """The address, completed by what the calls so far found out."""
        finder = self._controller
        return (
            finder.found_address() if isinstance(finder, AddressFinder) else self._server.controller
        )

    async def close(self) -> None:
        """End the controller's sessions, within a limit."""
        try:
            await self._calls.within(CLOSE_LIMIT, self._controller.close())
        except RackwrightError as error:
            log.info("%s: not closed: %s", self._where, error)

    async def _listen(self, source: ConsoleSource) -> AsyncGenerator[bytes, None]:
        if not self._introduced:
            await self.identity()
        await self._calls.note(call_texts.OPEN_CONSOLE, "ok")
        stream = source.stream()
        try:
            async for part in stream:
                yield part
        finally:
            if isinstance(stream, AsyncGenerator):
                await stream.aclose()

    async def _call(
        self,
        text: str,
        call: Callable[[], Awaitable[T]],
        until: MonotonicSeconds | None = None,
        *,
        longest: Seconds | None = None,
    ) -> T:
        """One call to the machine that is remembered, and to no other."""
        if self._server.identity is not None and not self._introduced:
            await self.identity(until=until)
        return await self._calls.make(text, call, until=until, longest=longest)

    async def _look(self, until: MonotonicSeconds | None) -> PowerReading:
        at = self._clock.monotonic()
        try:
            power = await self._call(call_texts.READ_POWER, self._controller.read_power, until)
        except TransientError as error:
            return self._reading(Power.UNKNOWN, at, str(error))
        why = "" if power is not Power.UNKNOWN else f"{self._where} says neither on nor off"
        return self._reading(power, at, why)

    def _reading(self, power: Power, at: MonotonicSeconds, why: str) -> PowerReading:
        return PowerReading(power=power, at=at, source=self._source, why=why)

    async def _boot_setting(self) -> BootSetting:
        setting = await self._unless_refused(call_texts.READ_BOOT, self._controller.read_boot)
        return setting or BootSetting(device=None)

    async def _unless_refused(
        self, text: str, call: Callable[[], Awaitable[T]], *, longest: Seconds | None = None
    ) -> T | None:
        """None where this controller has no such thing."""
        try:
            return await self._call(text, call, longest=longest)
        except OperatorError as error:
            if error.code is not ErrorCode.CONTROLLER_REFUSED:
                raise
            return None


def default_driver(protocol: ControllerProtocol) -> ControllerDriver:
    """Before verification has found the one that answers."""
    if protocol is ControllerProtocol.REDFISH:
        return ControllerDriver.SUSHY
    return ControllerDriver.PYGHMI
