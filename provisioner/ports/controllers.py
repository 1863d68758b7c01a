"""Baseboard management controllers: a small protocol, and the faces that some have besides."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, runtime_checkable

from provisioner.secret import Secret
from provisioner.servers.controller_media import NamedMedium
from provisioner.servers.model import (
    ControllerAddress,
    ControllerDriver,
    ControllerIdentity,
    FirmwareMode,
    Power,
)


class PowerAct(StrEnum):
    """What a power button can do; CYCLE is off and on by the controller itself."""

    ON = "on"
    OFF = "off"
    CYCLE = "cycle"
    SOFT_OFF = "soft-off"


class BootDevice(StrEnum):
    """Where the next start looks first."""

    NETWORK = "network"
    DISK = "disk"


@dataclass(frozen=True, slots=True, kw_only=True)
class BootSetting:
    """What a controller says about the next start; None is "this one does not report it"."""

    device: BootDevice | None
    once: bool | None = None
    mode: FirmwareMode | None = None


class Controller(Protocol):
    """One baseboard management controller, one call at a time.

    Every call may raise TransientError (CONTROLLER_UNREACHABLE, CONTROLLER_BUSY: call again),
    OperatorError (CONTROLLER_PASSWORD: never again with this password; CONTROLLER_CERTIFICATE,
    CONTROLLER_REFUSED, CONTROLLER_NONSENSE). An answer is never taken for an outcome.
    """

    async def identity(self) -> ControllerIdentity:
        """Who it says it is."""
        ...

    async def read_power(self) -> Power:
        """Asked now, never cached."""
        ...

    async def press(self, act: PowerAct) -> None:
        """Return when the controller accepted; whether it happened is for the next reading."""
        ...

    async def set_boot_once(self, device: BootDevice, mode: FirmwareMode) -> None:
        """For the next start only; the mode goes along always (some boards flip without it)."""
        ...

    async def read_boot(self) -> BootSetting:
        """What it reports of the setting."""
        ...

    async def close(self) -> None:
        """End sessions; slots are few on many controllers."""
        ...


@runtime_checkable
class RestorePolicy(Protocol):
    """What a controller does when mains return; a second face of a Controller."""

    async def stay_off(self) -> None:
        """Ask for "stay off".

        Raises:
            OperatorError: CONTROLLER_REFUSED: this one has no such setting.
        """
        ...


@runtime_checkable
class NonceKeeper(Protocol):
    """A place in a controller that the machine itself can read; a face of some Controllers."""

    async def leave_nonce(self, nonce: bytes) -> str:
        """Leave 13 bytes; answers the way to read them in band: "ipmi-sel" or "media"."""
        ...

    async def remove_nonce(self) -> None:
        """Take it back."""
        ...


@runtime_checkable
class ConsoleSource(Protocol):
    """A serial console as far as the controller delivers it."""

    def stream(self) -> AsyncIterator[bytes]:
        """Until the controller ends it: many go silent at power-off and must be opened anew."""
        ...


@runtime_checkable
class BootProgress(Protocol):
    """A face of a Controller that the firmware tells how far a start has come."""

    async def has_started(self) -> bool | None:
        """The operating system runs; None: this one does not say."""
        ...


@runtime_checkable
class MediaLister(Protocol):
    """A face of a Controller that knows what drives its machine holds."""

    async def media(self) -> tuple[NamedMedium, ...]:
        """All that are present; slow where there are many (one request a drive).

        Raises:
            OperatorError: CONTROLLER_REFUSED: this one keeps no list.
        """
        ...


@runtime_checkable
class AddressFinder(Protocol):
    """A face of a Controller that found out by talking how it is best spoken to."""

    def found_address(self) -> ControllerAddress:
        """The address with what the first answer completed: cipher suite, system."""
        ...


class Controllers(Protocol):
    """Makes a Controller when needed; dropped by `close`."""

    def open(
        self,
        address: ControllerAddress,
        password: Secret,
        driver: ControllerDriver,
        *,
        certificate_sha256: str | None,
    ) -> Controller:
        """No call goes out yet.

        Args:
            address: Where.
            password: Of the user in the address.
            driver: Which library.
            certificate_sha256: Pinned; checked before the password is sent. None at enrolment.
        """
        ...
