"""Requests and answers of the system event log, as bytes. Standard library only.

Source: IPMI 2.0 rev. 1.1, chapter 31.
"""

import struct
from dataclasses import dataclass

STORAGE = 0x0A
GET_ENTRY = 0x43
FIRST_RECORD = 0x0000
LAST_RECORD = 0xFFFF
_WHOLE = 0xFF
_NEXT = struct.Struct("<H")


class ControllerRefusedError(Exception):
    """The controller answered with a completion code other than 0."""

    def __init__(self, code: int) -> None:
        """Keep the code."""
        super().__init__(f"completion code {code:#04x}")
        self.code = code


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRecord:
    """One record; `following` is LAST_RECORD behind the newest."""

    following: int
    record: bytes


def entry_request(number: int) -> bytes:
    """Get SEL Entry: a whole record, without a reservation."""
    return struct.pack("<HHBB", 0, number, 0, _WHOLE)


def parse_entry(answer: bytes) -> LogRecord:
    """The answer to it.

    Raises:
        ControllerRefusedError: The log is empty, or has no such record.
        ValueError: Too short.
    """
    if not answer or answer[0] != 0:
        raise ControllerRefusedError(answer[0] if answer else 0xFF)
    if len(answer) < 1 + _NEXT.size:
        raise ValueError("the controller's answer is too short")
    (following,) = _NEXT.unpack_from(answer, 1)
    return LogRecord(following=following, record=answer[1 + _NEXT.size :])
