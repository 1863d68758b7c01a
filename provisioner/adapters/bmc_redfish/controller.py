"""ports.Controller over Redfish.

sushy blocks, so each call runs in a pool of threads that the service gives, with a time-out on
every request; a call that is given up is cut by closing its connections, and waited for. The
certificate is compared before the password is sent. Basic authentication: it leaves no session
behind in controllers that have eight of them.
"""

import asyncio
import contextvars
import logging
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import replace
from typing import TypeVar

from provisioner.adapters.bmc_redfish.talk import NonceMedia, Talk
from provisioner.ports.controllers import BootDevice, BootSetting, PowerAct
from provisioner.secret import Secret
from provisioner.servers.controller_media import NamedMedium
from provisioner.servers.model import (
    ControllerAddress,
    ControllerIdentity,
    FirmwareMode,
    Power,
)

log = logging.getLogger(__name__)
T = TypeVar("T")


class RedfishController:
    """One system behind one Redfish service.

    It has all faces of a Controller but the console.

    Args:
        address: With the id of the system, where the service has several.
        password: Sent only over a connection whose certificate is the pinned one.
        certificate_sha256: Of the DER certificate; None at enrolment: the first one is kept.
        pool: Threads for the calls.
        media: For the nonce; None where the controllers reach no place of ours.
    """

    def __init__(
        self,
        address: ControllerAddress,
        password: Secret,
        certificate_sha256: str | None,
        *,
        pool: Executor,
        media: NonceMedia | None,
    ) -> None:
        self._address, self._pool = address, pool
        self._talk = Talk(address, password, certificate_sha256, media)

    async def identity(self) -> ControllerIdentity:
        """From the system's own resource and the certificate."""
        return await self._run(self._talk.identity)

    async def read_power(self) -> Power:
        """PoweringOn and PoweringOff are UNKNOWN."""
        return await self._run(self._talk.read_power)

    async def press(self, act: PowerAct) -> None:
        """By the reset type that this system allows."""
        await self._run(lambda: self._talk.press(act))

    async def set_boot_once(self, device: BootDevice, mode: FirmwareMode) -> None:
        """Device, once and mode together; without the mode where a board refuses that."""
        await self._run(lambda: self._talk.set_boot_once(device, mode))

    async def read_boot(self) -> BootSetting:
        """What the boot override says now."""
        return await self._run(self._talk.read_boot)

    async def has_started(self) -> bool | None:
        """BootProgress, where the firmware reports it."""
        return await self._run(self._talk.has_started)

    async def media(self) -> tuple[NamedMedium, ...]:
        """The drives of all its storage subsystems."""
        return await self._run(self._talk.media)

    async def stay_off(self) -> None:
        """PowerRestorePolicy, where the system has it."""
        await self._run(self._talk.stay_off)

    async def leave_nonce(self, nonce: bytes) -> str:
        """As an inserted medium."""
        await self._run(lambda: self._talk.leave_nonce(nonce))
        return "media"

    async def remove_nonce(self) -> None:
        """Eject media of ours, in whatever slot."""
        await self._run(self._talk.remove_nonce)

    def found_address(self) -> ControllerAddress:
        """With the id of the system that was found."""
        return replace(self._address, system=self._talk.system_id or self._address.system)

    async def close(self) -> None:
        """Nothing is open between two calls but sockets of the library."""
        self._talk.close()

    async def _run(self, call: Callable[[], T]) -> T:
        """In a thread; whoever gives up waits until the thread has ended."""
        run = contextvars.copy_context().run  # its library's lines say which server, too
        running = asyncio.get_running_loop().run_in_executor(self._pool, run, call)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            self._talk.close()
            await asyncio.wait([running])
            if not running.cancelled() and (error := running.exception()) is not None:
                log.debug("a call that was given up ended with %r", error)
            raise
