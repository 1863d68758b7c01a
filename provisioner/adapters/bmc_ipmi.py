"""ports.Controller over IPMI, whichever library carries the requests.

Two doors exist: pyghmi in a worker process (bmc_pyghmi) and ipmitool (bmc_ipmitool). Both ask
one request at a time; everything that a request means is here, once.
"""

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Protocol, TypeVar

from provisioner.errors import ErrorCode, OperatorError, TransientError
from provisioner.ports.controllers import BootDevice, BootSetting, ConsoleSource, PowerAct
from provisioner.servers import ipmi
from provisioner.servers.ipmi import BootSource, ChassisAct, IpmiAnswer, IpmiRequest
from provisioner.servers.model import (
    ControllerAddress,
    ControllerIdentity,
    FirmwareMode,
    Power,
)

T = TypeVar("T")

ACTS = {
    PowerAct.ON: ChassisAct.UP,
    PowerAct.OFF: ChassisAct.DOWN,
    PowerAct.CYCLE: ChassisAct.CYCLE,
    PowerAct.SOFT_OFF: ChassisAct.SOFT,
}
SOURCES = {BootDevice.NETWORK: BootSource.NETWORK, BootDevice.DISK: BootSource.DISK}
DEVICES: dict[int, BootDevice] = {source: device for device, source in SOURCES.items()}
FULL = 0xC4
"""Completion code of a system event log without room: a refusal, not a reason to ask again."""


class IpmiDoor(Protocol):
    """Carries requests to one controller.

    Raises TransientError (CONTROLLER_UNREACHABLE, CONTROLLER_BUSY) or OperatorError
    (CONTROLLER_PASSWORD, CONTROLLER_REFUSED, CONTROLLER_NONSENSE): there was no answer. A
    completion code other than 0 is an answer.
    """

    async def ask(self, request: IpmiRequest) -> IpmiAnswer:
        """One request, one answer; opens a session where none is open."""
        ...

    def cipher_suite(self) -> int | None:
        """The suite of the session; None before there was one."""
        ...

    async def close(self) -> None:
        """End the session."""
        ...


class IpmiController:
    """One controller over IPMI, with all the faces that a Controller can have.

    Args:
        address: For messages and for `found_address`.
        door: The way there.
        console: Its serial console over LAN; a session of its own.
        left: Where the numbers of nonce records are kept between conversations, by address.
            What a restart forgets stays in the event log, where it harms nobody.
    """

    def __init__(
        self,
        address: ControllerAddress,
        door: IpmiDoor,
        console: ConsoleSource,
        left: dict[tuple[str, int], int],
    ) -> None:
        self._address, self._door, self._console, self._left = address, door, console, left
        self._where = f"controller {address.host}:{address.port}"

    async def identity(self) -> ControllerIdentity:
        """The system GUID; where it is a filler, the serial number of the inventory."""
        answer = await self._door.ask(ipmi.SYSTEM_GUID)
        uuid = None
        if answer.code == 0:
            uuid = self._read(ipmi.guid_text, answer.data)
        elif answer.code not in ipmi.NOT_THERE:
            raise self._refused(ipmi.SYSTEM_GUID, answer)
        serial = None if uuid else ipmi.product_serial(await self._inventory())
        return ControllerIdentity(system_uuid=uuid, serial=serial)

    async def read_power(self) -> Power:
        """From the chassis status."""
        data = await self._ask(ipmi.CHASSIS_STATUS)
        return Power.ON if self._read(ipmi.chassis_is_on, data) else Power.OFF

    async def press(self, act: PowerAct) -> None:
        """Chassis control; a completion code is no outcome."""
        await self._ask(ipmi.chassis_control(ACTS[act]))

    async def set_boot_once(self, device: BootDevice, mode: FirmwareMode) -> None:
        """Boot flags with the firmware mode, kept until the next start where that is known."""
        kept = await self._door.ask(ipmi.KEEP_BOOT_FLAGS)
        if kept.code in ipmi.RETRYABLE:
            raise self._refused(ipmi.KEEP_BOOT_FLAGS, kept)
        await self._ask(ipmi.boot_flags(SOURCES[device], efi=mode is FirmwareMode.UEFI))

    async def read_boot(self) -> BootSetting:
        """Once and mode only where the flags are marked as valid.

        Quirk: ipmi_sim (OpenIPMI 2.0.33) keeps the device and forgets the flags.
        """
        answer = await self._door.ask(ipmi.READ_BOOT_FLAGS)
        if answer.code in ipmi.NOT_THERE:
            return BootSetting(device=None)
        data = self._data(ipmi.READ_BOOT_FLAGS, answer)
        flags = self._read(ipmi.read_boot_flags, data)
        device = DEVICES.get(flags.source)
        if not flags.valid:
            return BootSetting(device=device)
        mode = FirmwareMode.UEFI if flags.efi else FirmwareMode.BIOS
        return BootSetting(device=device, once=not flags.persistent, mode=mode)

    async def stay_off(self) -> None:
        """Power-restore policy "always off"."""
        await self._ask(ipmi.RESTORE_STAY_OFF)

    async def leave_nonce(self, nonce: bytes) -> str:
        """As an OEM record of the system event log, which the machine reads in band."""
        request = ipmi.add_nonce(nonce)
        answer = await self._door.ask(request)
        if answer.code == FULL:
            raise OperatorError(
                ErrorCode.CONTROLLER_REFUSED, f"{self._where}: its system event log is full"
            )
        data = self._data(request, answer)
        self._left[self._address.host, self._address.port] = self._read(ipmi.record_id, data)
        return "ipmi-sel"

    async def remove_nonce(self) -> None:
        """Delete the record, where its number is remembered."""
        record = self._left.pop((self._address.host, self._address.port), None)
        if record is None:
            return
        reservation = self._read(ipmi.record_id, await self._ask(ipmi.RESERVE_SEL))
        await self._ask(ipmi.delete_record(reservation, record))

    def stream(self) -> AsyncIterator[bytes]:
        """Serial over LAN."""
        return self._console.stream()

    def found_address(self) -> ControllerAddress:
        """With the cipher suite of the session."""
        suite = self._door.cipher_suite()
        return self._address if suite is None else replace(self._address, cipher_suite=suite)

    async def close(self) -> None:
        """End the session."""
        await self._door.close()

    async def _inventory(self) -> bytes:
        answer = await self._door.ask(ipmi.FRU_SIZE)
        if answer.code in ipmi.NOT_THERE:
            return b""
        size = self._read(ipmi.record_id, self._data(ipmi.FRU_SIZE, answer))
        fru = bytearray()
        while len(fru) < min(size, ipmi.MOST_FRU_BYTES):
            length = min(ipmi.PART_BYTES, size - len(fru))
            part = (await self._ask(ipmi.read_fru(len(fru), length)))[1:]
            if not part:
                break
            fru += part
        return bytes(fru)

    async def _ask(self, request: IpmiRequest) -> bytes:
        return self._data(request, await self._door.ask(request))

    def _data(self, request: IpmiRequest, answer: IpmiAnswer) -> bytes:
        if answer.code:
            raise self._refused(request, answer)
        return answer.data

    def _refused(self, request: IpmiRequest, answer: IpmiAnswer) -> OperatorError | TransientError:
        said = ipmi.CODES.get(answer.code, f"completion code {answer.code:#04x}")
        detail = f"request {request.netfn:#04x} {request.command:#04x} {request.data.hex()}"
        if answer.code in ipmi.RETRYABLE:
            return TransientError(ErrorCode.CONTROLLER_BUSY, f"{self._where}: {said}", detail)
        return OperatorError(ErrorCode.CONTROLLER_REFUSED, f"{self._where}: {said}", detail)

    def _read(self, reading: Callable[[bytes], T], data: bytes) -> T:
        try:
            return reading(data)
        except ValueError as error:
            raise OperatorError(
                ErrorCode.CONTROLLER_NONSENSE, f"{self._where}: {error}", data.hex()
            ) from error
