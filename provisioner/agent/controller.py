"""Talks to the machine's own controller through the kernel (/dev/ipmi0). Standard library only.

Source: linux/include/uapi/linux/ipmi.h, 6.1.
"""

import ctypes
import fcntl
import os
import select
import struct
from types import TracebackType
from typing import Self

_DEVICE = "/dev/ipmi0"
_MOST_ANSWER = 272
"""IPMI_MAX_MSG_LENGTH."""
_ADDRESS_BYTES = 40
_SYSTEM_INTERFACE = struct.pack("=ihB", 0x0C, 0x0F, 0)
_ANSWER_WITHIN_S = 5.0


class _Message(ctypes.Structure):
    _fields_ = (
        ("netfn", ctypes.c_ubyte),
        ("command", ctypes.c_ubyte),
        ("length", ctypes.c_ushort),
        ("data", ctypes.c_void_p),
    )


class _Request(ctypes.Structure):
    _fields_ = (
        ("address", ctypes.c_void_p),
        ("address_length", ctypes.c_uint),
        ("number", ctypes.c_long),
        ("message", _Message),
    )


class _Received(ctypes.Structure):
    _fields_ = (
        ("kind", ctypes.c_int),
        ("address", ctypes.c_void_p),
        ("address_length", ctypes.c_uint),
        ("number", ctypes.c_long),
        ("message", _Message),
    )


def _ioctl(direction: int, number: int, structure: type[ctypes.Structure]) -> int:
    return direction << 30 | ctypes.sizeof(structure) << 16 | ord("i") << 8 | number


_SEND = _ioctl(2, 13, _Request)
_RECEIVE = _ioctl(3, 11, _Received)


class InBandController:
    """An open device. One request at a time."""

    def __init__(self) -> None:
        """Open it; OSError where this machine has none."""
        self._file = os.open(_DEVICE, os.O_RDWR | os.O_CLOEXEC)
        self._number = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._file)

    def ask(self, netfn: int, command: int, data: bytes) -> bytes:
        """The answer, completion code first.

        Raises:
            OSError: The driver refused, or nothing came (TimeoutError).
        """
        self._number += 1
        address = ctypes.create_string_buffer(_SYSTEM_INTERFACE, _ADDRESS_BYTES)
        content = ctypes.create_string_buffer(data, max(1, len(data)))
        message = _Message(netfn, command, len(data), ctypes.addressof(content))
        size = len(_SYSTEM_INTERFACE) + 1  # with the structure's padding
        fcntl.ioctl(
            self._file, _SEND, _Request(ctypes.addressof(address), size, self._number, message)
        )
        return self._receive()

    def _receive(self) -> bytes:
        while True:
            if not select.select([self._file], [], [], _ANSWER_WITHIN_S)[0]:
                raise TimeoutError("the controller does not answer in band")
            address = ctypes.create_string_buffer(_ADDRESS_BYTES)
            content = ctypes.create_string_buffer(_MOST_ANSWER)
            message = _Message(0, 0, _MOST_ANSWER, ctypes.addressof(content))
            received = _Received(0, ctypes.addressof(address), _ADDRESS_BYTES, 0, message)
            fcntl.ioctl(self._file, _RECEIVE, received)
            # an answer to an earlier request that came too late is not ours
            if received.number == self._number:
                return content.raw[: received.message.length]
