"""Power buttons of one conversation: pressed until accepted, then looked at until it is so."""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from provisioner.errors import ErrorCode, OperatorError, TransientError
from provisioner.operations import call_texts
from provisioner.operations.controller_calls import ControllerCalls
from provisioner.ports.controllers import Controller, PowerAct
from provisioner.servers.model import Power, PowerReading
from provisioner.units import MonotonicSeconds, Seconds

log = logging.getLogger(__name__)

FIRST_LOOK, LAST_LOOK = Seconds(0.5), Seconds(2.0)
"""Between two readings of a power that was pressed."""

Allowed = Callable[[], Awaitable[None]]
"""Raises where a button must not be pressed now; no TransientError, which means "try again"."""
Look = Callable[[MonotonicSeconds | None], Awaitable[PowerReading]]


class Call(Protocol):
    """One call of a conversation."""

    def __call__(
        self, text: str, call: Callable[[], Awaitable[None]], until: MonotonicSeconds | None = None
    ) -> Awaitable[None]:
        """Journaled, bounded, with the machine that is remembered."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Button:
    """What is pressed, what it leads to, and who is asked right before each press."""

    act: PowerAct
    leads_to: Power
    allowed: Allowed | None = None


OFF = Button(act=PowerAct.OFF, leads_to=Power.OFF)
SOFT_OFF = Button(act=PowerAct.SOFT_OFF, leads_to=Power.OFF)


class Buttons:
    """How one conversation switches.

    Args:
        controller: Whose buttons.
        calls: For the clock, and for how long the controller is left alone.
        look: Reads the power.
        call: Makes a call.
    """

    def __init__(
        self, controller: Controller, calls: ControllerCalls, *, look: Look, call: Call
    ) -> None:
        self._controller, self._calls, self._clock = controller, calls, calls.clock
        self._look, self._call = look, call

    async def reach(
        self, button: Button, reading: PowerReading, until: MonotonicSeconds
    ) -> PowerReading:
        """The reading that says so; a button that is not needed is not pressed.

        Raises:
            OperatorError: POWER_NOT_REACHED.
        """
        reading = await self._press_until(button, reading, until)
        if reading.power is button.leads_to:
            return reading
        raise OperatorError(
            ErrorCode.POWER_NOT_REACHED,
            f"{self._calls.where} was told {button.act}, last seen {reading.power}",
            reading.why,
        )

    async def softly_off(self, reading: PowerReading, until: MonotonicSeconds) -> PowerReading:
        """As far as it comes; a controller without that button is no failure."""
        try:
            return await self._press_until(SOFT_OFF, reading, until)
        except OperatorError as error:
            if error.code is not ErrorCode.CONTROLLER_REFUSED:
                raise
            return reading

    async def _press_until(
        self, button: Button, reading: PowerReading, until: MonotonicSeconds
    ) -> PowerReading:
        """Press once accepted, look until it is so or the time is over: the last reading."""
        pressed, pause = False, FIRST_LOOK
        while reading.power is not button.leads_to and self._clock.monotonic() < until:
            if not pressed:
                pressed = await self._press(button, until)
            await self._clock.sleep(Seconds(min(pause, max(0.0, until - self._clock.monotonic()))))
            reading, pause = await self._look(until), Seconds(min(pause * 2, LAST_LOOK))
        return reading

    async def _press(self, button: Button, until: MonotonicSeconds) -> bool:
        """Accepted; False where it is to be tried again."""
        text = call_texts.power(button.act)

        async def press() -> None:
            if button.allowed is not None:
                await button.allowed()
            await self._controller.press(button.act)

        try:
            await self._call(text, press, until)
        except TransientError as error:
            is_left_alone = error.code is ErrorCode.CONTROLLER_BREAKER
            left = until - self._clock.monotonic()
            if is_left_alone and self._calls.breaker.remaining() > left:
                raise
            log.log(logging.DEBUG if is_left_alone else logging.INFO, "%s: %s", text, error)
            return False
        except OperatorError as error:
            # some refuse what is so already, and it may have become so a moment ago
            if error.code is not ErrorCode.CONTROLLER_REFUSED:
                raise
            if (await self._look(until)).power is not button.leads_to:
                raise
        return True
