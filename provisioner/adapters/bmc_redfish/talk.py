"""The calls of one Redfish conversation as sushy makes them: they block."""

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import sushy
from sushy import auth, exceptions
from sushy.resources.system.constants import BootProgressStates

from provisioner.adapters.bmc_redfish.line import Connector, Line, is_no_tls, is_without_end
from provisioner.errors import ErrorCode, OperatorError, RackwrightError, TransientError
from provisioner.ports.controllers import BootDevice, BootSetting, PowerAct
from provisioner.secret import Secret
from provisioner.servers.controller_media import NamedMedium
from provisioner.servers.model import (
    ControllerAddress,
    ControllerIdentity,
    FirmwareMode,
    Power,
)

UNKNOWN_UUIDS = {"", "00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"}
POWER = {sushy.PowerState.ON: Power.ON, sushy.PowerState.OFF: Power.OFF}
RESETS: Mapping[PowerAct, tuple[Any, ...]] = {
    PowerAct.ON: (sushy.ResetType.ON, sushy.ResetType.FORCE_ON),
    PowerAct.OFF: (sushy.ResetType.FORCE_OFF,),
    PowerAct.CYCLE: (sushy.ResetType.POWER_CYCLE,),
    PowerAct.SOFT_OFF: (sushy.ResetType.GRACEFUL_SHUTDOWN,),
}
"""In the order of preference. A restart is no power cycle: some boards hang on ForceRestart."""
TARGETS = {BootDevice.NETWORK: sushy.BootSource.PXE, BootDevice.DISK: sushy.BootSource.HDD}
DEVICES = {target: device for device, target in TARGETS.items()}
MODES = {
    FirmwareMode.BIOS: sushy.BootSourceOverrideMode.LEGACY,
    FirmwareMode.UEFI: sushy.BootSourceOverrideMode.UEFI,
}
FIRMWARE = {mode: firmware for firmware, mode in MODES.items()}
SAYS_NOTHING = {None, BootProgressStates.NONE, BootProgressStates.OEM}
OPTICAL = {sushy.VirtualMediaType.CD, sushy.VirtualMediaType.DVD}
ASK_AGAIN = ("SYS518", "UnableToModifyDuringSystemPOST", "InvalidOperationForSystemState")
"""Refusals that pass: iDRAC after a volume job, iLO during power-on self-test."""
CONFLICT, SERVER_ERROR, NOT_IMPLEMENTED, UNAVAILABLE = 409, 500, 501, 503


class NonceMedia(Protocol):
    """Makes media that a controller can fetch, and knows them again."""

    def publish(self, nonce: bytes) -> str:
        """The URL of a medium with this nonce; a new one each time."""
        ...

    def is_ours(self, url: str) -> bool:
        """This URL was answered by `publish`, here or before a restart."""
        ...


class Talk:
    """The calls as they block; made by one thread at a time."""

    def __init__(
        self,
        address: ControllerAddress,
        password: Secret,
        pin: str | None,
        media: NonceMedia | None,
    ) -> None:
        self._address, self._password, self._media = address, password, media
        self._where = f"controller {address.host}:{address.port}"
        self._line = Line(self._where, pin)
        self._connector: Any = None
        self._system: Any = None
        self.system_id = ""

    def identity(self) -> ControllerIdentity:
        """What the system says of itself, and the certificate of this conversation."""
        with self._translated(reading=True):
            system = self._fresh()
            uuid = (system.uuid or "").lower()
            return ControllerIdentity(
                system_uuid=None if uuid in UNKNOWN_UUIDS else uuid,
                serial=(system.serial_number or "").strip() or None,
                certificate_sha256=self._line.pin,
                maker=system.manufacturer,
                model=system.model,
            )

    def read_power(self) -> Power:
        """Asked anew; a state on its way is UNKNOWN."""
        with self._translated(reading=True):
            return POWER.get(self._fresh().power_state, Power.UNKNOWN)

    def press(self, act: PowerAct) -> None:
        """The first reset type of the act that this system allows."""
        with self._translated():
            system = self._found()
            allowed = system.get_allowed_reset_system_values()
            reset = next((each for each in RESETS[act] if each in allowed), None)
            if reset is None:
                raise self._refused(f"has no reset type for {act}")
            system.reset_system(reset)

    def set_boot_once(self, device: BootDevice, mode: FirmwareMode) -> None:
        """The whole triple first: what is left out is taken back to defaults by some boards."""
        once = sushy.BootSourceOverrideEnabled.ONCE
        with self._translated():
            system = self._fresh()
            try:
                system.set_system_boot_options(TARGETS[device], once, MODES[mode])
            except exceptions.BadRequestError as error:
                if any(words in str(error) for words in ASK_AGAIN):
                    raise
                system.set_system_boot_options(TARGETS[device], once)

    def read_boot(self) -> BootSetting:
        """A disabled override is none."""
        with self._translated(reading=True):
            boot = self._fresh().boot
            if boot is None or boot.enabled in {None, sushy.BootSourceOverrideEnabled.DISABLED}:
                return BootSetting(device=None)
            return BootSetting(
                device=DEVICES.get(boot.target),
                once=boot.enabled is sushy.BootSourceOverrideEnabled.ONCE,
                mode=FIRMWARE.get(boot.mode),
            )

    def has_started(self) -> bool | None:
        """By the last state of its boot progress; a firmware that keeps none says "None"."""
        with self._translated(reading=True):
            progress = self._fresh().boot_progress
            if progress is None or progress.last_state in SAYS_NOTHING:
                return None
            return bool(progress.last_state is BootProgressStates.OS_RUNNING)

    def media(self) -> tuple[NamedMedium, ...]:
        """Drives in their bays; an empty bay is listed by some boards as an absent drive."""
        with self._translated(reading=True):
            try:
                subsystems = self._found().storage.get_members()
            except (exceptions.MissingAttributeError, exceptions.ResourceNotFoundError) as error:
                raise self._refused("keeps no list of drives", str(error)) from error
            drives = [
                subsystem.get_drive(path)
                for subsystem in subsystems
                for path in subsystem.drives_identities or ()
            ]
            return tuple(_medium(each) for each in drives if not _is_absent(each))

    def stay_off(self) -> None:
        """Set the policy, where the system shows one."""
        with self._translated():
            path = self._found().path
            answer = self._connector.get(path)
            if "PowerRestorePolicy" not in answer.json():
                raise self._refused("has no power-restore policy")
            wanted = {"PowerRestorePolicy": "AlwaysOff"}
            self._connector.patch(path, data=wanted, etag=answer.headers.get("ETag"))

    def leave_nonce(self, nonce: bytes) -> None:
        """In the first slot that takes the medium."""
        if self._media is None:
            raise self._refused("is given no place to fetch media from")
        with self._translated():
            slots = self._slots()
            url = self._media.publish(nonce)
            for slot in slots:
                with contextlib.suppress(exceptions.MissingActionError, exceptions.HTTPError):
                    slot.insert_media(url)
                    return
        raise self._refused("inserts no medium")

    def remove_nonce(self) -> None:
        """From every slot that holds a medium of ours."""
        with self._translated():
            for slot in self._slots():
                if self._is_ours(slot):
                    slot.eject_media()

    def close(self) -> None:
        """Cut what is open; a call in another thread ends with an error."""
        self._line.cut()
        if self._connector is not None:
            self._connector.close()

    def _found(self) -> Any:  # noqa: ANN401 sushy's System
        """The one system, or the named one."""
        if self._system is None:
            url = f"https://{_bracketed(self._address.host)}:{self._address.port}"
            self._connector = Connector(url, self._line)
            user, password = self._address.user, self._password.reveal()
            root = sushy.Sushy(url, auth=auth.BasicAuth(user, password), connector=self._connector)
            self._system = root.get_system(self._system_path(root))
            self.system_id = self._system.identity
        return self._system

    def _fresh(self) -> Any:  # noqa: ANN401
        known = self._system is not None
        system = self._found()
        if known:
            system.refresh(force=True)
        return system

    def _system_path(self, root: Any) -> str:  # noqa: ANN401
        paths = [str(path) for path in root.get_system_collection().members_identities]
        ids = {path.rstrip("/").rpartition("/")[2]: path for path in paths}
        wanted = self._address.system
        if wanted in ids:
            return ids[wanted]
        if wanted or len(paths) != 1:
            raise OperatorError(
                ErrorCode.CONTROLLER_SYSTEMS,
                f"{self._where} offers {len(paths)} systems, "
                + (f"none is {wanted}" if wanted else "exactly one is expected: name it"),
                f"systems: {' '.join(ids)}",
            )
        return paths[0]

    def _slots(self) -> list[Any]:
        """Optical slots that are free, or hold a medium of ours; never anybody else's."""
        system = self._found()
        try:
            slots = system.virtual_media.get_members()
        except (exceptions.MissingAttributeError, exceptions.ResourceNotFoundError):
            slots = [s for m in system.managers for s in m.virtual_media.get_members()]
        return [
            slot
            for slot in slots
            if (not slot.media_types or OPTICAL & set(slot.media_types))
            and (not slot.inserted or self._is_ours(slot))
        ]

    def _is_ours(self, slot: Any) -> bool:  # noqa: ANN401
        return self._media is not None and self._media.is_ours(slot.image or "")

    def _refused(self, brief: str, detail: str = "") -> OperatorError:
        return OperatorError(ErrorCode.CONTROLLER_REFUSED, f"{self._where} {brief}", detail)

    @contextlib.contextmanager
    def _translated(self, *, reading: bool = False) -> Iterator[None]:
        """Errors of sushy as ours; after a server's error only what reads is asked again."""
        try:
            yield
        except exceptions.AccessError as error:
            raise OperatorError(
                ErrorCode.CONTROLLER_PASSWORD, f"{self._where} refuses the password", str(error)
            ) from error
        except exceptions.HTTPError as error:
            raise self._http(error, reading=reading) from error
        except exceptions.ConnectionError as error:
            raise self._unreached(error) from error
        except exceptions.InvalidParameterValueError as error:
            raise self._refused("does not offer what was asked", str(error)) from error
        except (exceptions.SushyError, ValueError, TypeError, AttributeError, LookupError) as error:
            # sushy expects the shapes of the schema and trips over any other
            raise OperatorError(
                ErrorCode.CONTROLLER_NONSENSE, f"{self._where} answers nonsense", str(error)
            ) from error

    def _http(self, error: Any, *, reading: bool) -> RackwrightError:  # noqa: ANN401
        status, said = error.status_code, str(error)
        passes = status in {CONFLICT, UNAVAILABLE} or any(words in said for words in ASK_AGAIN)
        if passes or (reading and status >= SERVER_ERROR and status != NOT_IMPLEMENTED):
            return TransientError(
                ErrorCode.CONTROLLER_BUSY, f"{self._where} asks for patience: HTTP {status}", said
            )
        if reading:
            return OperatorError(
                ErrorCode.CONTROLLER_NONSENSE, f"{self._where} answers HTTP {status}", said
            )
        return self._refused(f"refuses: HTTP {status}", said)

    def _unreached(self, error: Exception) -> RackwrightError:
        cause = error.__context__
        if is_no_tls(cause):
            return OperatorError(
                ErrorCode.CONTROLLER_NONSENSE, f"{self._where} does not speak TLS", str(error)
            )
        if is_without_end(cause):
            return OperatorError(
                ErrorCode.CONTROLLER_NONSENSE, f"{self._where} answers nonsense", str(error)
            )
        return TransientError(
            ErrorCode.CONTROLLER_UNREACHABLE, f"{self._where} does not answer", str(error)
        )


def _is_absent(drive: Any) -> bool:  # noqa: ANN401 sushy's Drive
    return drive.status is not None and drive.status.state is sushy.State.ABSENT


def _medium(drive: Any) -> NamedMedium:  # noqa: ANN401
    return NamedMedium(
        name=drive.identity,
        serial=(drive.serial_number or "").strip() or None,
        model=drive.model,
        bytes=drive.capacity_bytes,
        wwns=tuple(each.durable_name for each in drive.identifiers if each.durable_name),
    )


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
