"""IPMI requests and answers as bytes: what is asked of a controller, how its words are read.

Pure. Source of every number: IPMI v2.0 revision 1.1, the table named beside it.
"""

import struct
from dataclasses import dataclass
from enum import IntEnum

from provisioner.hardware.nonce import record_with


@dataclass(frozen=True, slots=True, kw_only=True)
class IpmiRequest:
    """One request: network function, command and data."""

    netfn: int
    command: int
    data: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class IpmiAnswer:
    """Completion code (0 is success) and the data behind it."""

    code: int
    data: bytes = b""


class ChassisAct(IntEnum):
    """Table 28-4, chassis control."""

    DOWN = 0
    UP = 1
    CYCLE = 2
    SOFT = 5


class BootSource(IntEnum):
    """Table 28-14, boot flags, data 2 bits 5:2."""

    NONE = 0
    NETWORK = 1
    DISK = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class BootFlags:
    """Table 28-14, as read back. A source that we never set is given as its number."""

    valid: bool
    persistent: bool
    efi: bool
    source: int


CHASSIS_STATUS = IpmiRequest(netfn=0x00, command=0x01)
SYSTEM_GUID = IpmiRequest(netfn=0x06, command=0x37)
RESTORE_STAY_OFF = IpmiRequest(netfn=0x00, command=0x06, data=b"\x00")
"""Table 28-8: after mains return the chassis stays off."""
KEEP_BOOT_FLAGS = IpmiRequest(netfn=0x00, command=0x08, data=bytes([3, 0x08]))
"""Table 28-14, parameter 3: do not clear the valid bit 60 s after the flags were set.

Quirk: OpenBMC refuses it; the flags may then expire on a slow start.
"""
BOOT_FLAGS = 5
"""Table 28-14: the parameter that holds them."""
READ_BOOT_FLAGS = IpmiRequest(netfn=0x00, command=0x09, data=bytes([BOOT_FLAGS, 0, 0]))
RESERVE_SEL = IpmiRequest(netfn=0x0A, command=0x42)
FRU_SIZE = IpmiRequest(netfn=0x0A, command=0x10, data=b"\x00")

GUID_BYTES = 16
FRU_HEADER_BYTES, FRU_FORMAT, AREA_HEAD_BYTES = 8, 1, 3
CHASSIS_SERIAL, PRODUCT_SERIAL = 1, 4
LATIN_1, LAST_FIELD = 3, 0xC1
PART_BYTES = 16
"""How much of a FRU is read at once: small enough for every controller."""
MOST_FRU_BYTES = 4096

RETRYABLE = frozenset({0xC0, 0xC3, 0xC4, 0xCE, 0xD2})
"""Table 5-2: node busy, timeout, out of space, cannot answer now, initialising."""
NOT_THERE = frozenset({0xC1, 0xC2, 0xC9, 0xCB, 0xCC, 0xD5})
"""Table 5-2: no such command, parameter, sensor or data; or not in this state."""
CODES = {
    0xC0: "node busy",
    0xC1: "invalid command",
    0xC2: "command invalid for this LUN",
    0xC3: "timeout while processing",
    0xC4: "out of space",
    0xC7: "request data length invalid",
    0xC9: "parameter out of range",
    0xCB: "requested sensor, data or record not present",
    0xCC: "invalid data field in request",
    0xCE: "command response could not be provided",
    0xD2: "controller is initialising",
    0xD4: "insufficient privilege level",
    0xD5: "not supported in the present state",
}


def chassis_control(act: ChassisAct) -> IpmiRequest:
    """Press a button."""
    return IpmiRequest(netfn=0x00, command=0x02, data=bytes([act]))


def chassis_is_on(data: bytes) -> bool:
    """Power out of a chassis status; ValueError where it is cut short."""
    if not data:
        raise ValueError("an empty chassis status")
    return bool(data[0] & 0x01)


def boot_flags(source: BootSource, *, efi: bool) -> IpmiRequest:
    """For the next start only.

    The firmware mode goes along always: without it some boards turn to legacy boot.
    """
    valid = 0x80 | (0x20 if efi else 0)
    return IpmiRequest(
        netfn=0x00, command=0x08, data=bytes([BOOT_FLAGS, valid, source << 2, 0, 0, 0])
    )


def read_boot_flags(data: bytes) -> BootFlags:
    """The answer to READ_BOOT_FLAGS; ValueError where it is none."""
    try:
        _version, parameter, flags, source = data[:4]
    except ValueError:
        raise ValueError("boot flags cut short") from None
    if parameter & 0x7F != BOOT_FLAGS:
        raise ValueError("another parameter than the boot flags")
    return BootFlags(
        valid=bool(flags & 0x80) and not parameter & 0x80,
        persistent=bool(flags & 0x40),
        efi=bool(flags & 0x20),
        source=(source >> 2) & 0x0F,
    )


def guid_text(data: bytes) -> str | None:
    """A GUID's bytes in the order of the wire; None for the fillers of controllers without one."""
    if len(data) != GUID_BYTES:
        raise ValueError("a GUID of another length")
    if data in {bytes(GUID_BYTES), b"\xff" * GUID_BYTES}:
        return None
    digits = data.hex()
    return "-".join([digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]])


def add_nonce(nonce: bytes) -> IpmiRequest:
    """Leave a nonce in the system event log."""
    return IpmiRequest(netfn=0x0A, command=0x44, data=record_with(nonce))


def record_id(data: bytes) -> int:
    """Two bytes, as reservations and records are numbered."""
    try:
        return int(struct.unpack_from("<H", data)[0])
    except struct.error:
        raise ValueError("a number cut short") from None


def delete_record(reservation: int, record: int) -> IpmiRequest:
    """Take a record out of the system event log."""
    return IpmiRequest(netfn=0x0A, command=0x46, data=struct.pack("<HH", reservation, record))


def read_fru(offset: int, length: int) -> IpmiRequest:
    """Bytes of the inventory of the machine itself (FRU 0); the answer begins with their count."""
    return IpmiRequest(netfn=0x0A, command=0x11, data=struct.pack("<BHB", 0, offset, length))


def product_serial(fru: bytes) -> str | None:
    """The product's serial number, else the chassis's; None where the inventory has neither.

    Source: Platform Management FRU Information Storage Definition v1.0 rev 1.3, tables 8-1,
    10-1 and 12-1: fields of one type and length byte each, 0xC1 ends them.
    """
    if len(fru) < FRU_HEADER_BYTES or fru[0] & 0x0F != FRU_FORMAT:
        return None
    chassis, product = fru[2] * 8, fru[4] * 8
    serial = _field(fru, product + AREA_HEAD_BYTES, PRODUCT_SERIAL) if product else None
    return serial or (_field(fru, chassis + AREA_HEAD_BYTES, CHASSIS_SERIAL) if chassis else None)


def _field(fru: bytes, position: int, number: int) -> str | None:
    while position < len(fru) and fru[position] != LAST_FIELD:
        coding, length = fru[position] >> 6, fru[position] & 0x3F
        if number == 0:
            text = fru[position + 1 : position + 1 + length]
            if coding != LATIN_1 or len(text) < length:  # other codings are not decoded
                return None
            return text.decode("latin-1").strip(" \0") or None
        position, number = position + 1 + length, number - 1
    return None
