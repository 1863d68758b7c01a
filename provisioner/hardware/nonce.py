"""What the service leaves in a controller, and the machine behind that controller reads back.

The same bytes seen from both sides show that the controller belongs to this machine.
Standard library only.
"""

NONCE_BYTES = 13
"""What fits into one OEM record of the system event log."""
MEDIUM_BYTES = 2048
"""One sector of an optical medium; the first 16 of them are free in ISO 9660 too."""
_MAGIC = b"RACKWRIGHT-NONCE-1\n"
_OEM_RECORD = 0xE0
"""IPMI 2.0, table 32-3: E0h to FFh carry 13 bytes of OEM data without a time stamp."""
_RECORD_BYTES = 16


def medium_with(nonce: bytes) -> bytes:
    """The first sector of a medium that carries this nonce."""
    return (_MAGIC + nonce.hex().encode() + b"\n").ljust(MEDIUM_BYTES, b"\0")


def nonce_on_medium(sector: bytes) -> bytes | None:
    """The nonce in a medium's first sector; None when it is not one of ours."""
    if not sector.startswith(_MAGIC):
        return None
    line = sector[len(_MAGIC) :].partition(b"\n")[0]
    try:
        return bytes.fromhex(line.decode("ascii"))[:NONCE_BYTES] or None
    except ValueError:
        return None


def record_with(nonce: bytes) -> bytes:
    """A record for Add SEL Entry; its number is the controller's to choose."""
    if len(nonce) != NONCE_BYTES:
        raise ValueError(f"a nonce has {NONCE_BYTES} bytes")
    return b"\0\0" + bytes([_OEM_RECORD]) + nonce


def nonce_in_record(record: bytes) -> bytes | None:
    """The nonce in a record of the event log; None when it is of another type."""
    if len(record) != _RECORD_BYTES or record[2] != _OEM_RECORD:
        return None
    return record[3:]
