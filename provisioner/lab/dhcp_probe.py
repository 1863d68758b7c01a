"""Asking for a lease without taking one: what would a machine with this MAC be offered?"""

import contextlib
import secrets
import socket
import struct
import time
from dataclasses import dataclass

from provisioner.lab.layout import Layout
from provisioner.lab.namespaces import inside
from provisioner.lab.network import stranger
from provisioner.units import MacAddress

_BROADCAST = b"\xff" * 6
_ETHERTYPE_IPV4 = 0x0800
_UDP = 17
_SERVER_PORT, _CLIENT_PORT = 67, 68
_MAGIC = bytes((99, 130, 83, 99))
_END, _ROUTER, _MESSAGE, _SERVER_ID = 255, 3, 53, 54
_DISCOVER, _OFFER = 1, 2
"""Source: RFC 2131 and 2132."""
_HEADERS = 14 + 20 + 8
_FIXED = 236
_ALL_ONES = 0xFFFF


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """What a DHCP server offered.

    Attributes:
        boot_file: "" where none was named.
    """

    address: str
    server: str
    boot_file: str


def dhcp_offer(
    layout: Layout, bridge: str, mac: MacAddress, *, within_s: float = 3.0
) -> Lease | None:
    """What anybody on the bridge offers to this MAC; None when nobody does."""
    with stranger(layout, bridge, mac=mac) as namespace:
        return inside(namespace, lambda: _discover("eth0", mac, within_s))


def dhcp_offer_from(
    namespace: str, interface: str, mac: MacAddress, *, within_s: float = 3.0
) -> Lease | None:
    """The same through an interface that is plugged in already."""
    return inside(namespace, lambda: _discover(interface, mac, within_s))


def _discover(interface: str, mac: MacAddress, within_s: float) -> Lease | None:
    number = secrets.token_bytes(4)
    frame = _discover_frame(bytes.fromhex(mac.replace(":", "")), number)
    deadline = time.monotonic() + within_s
    kind = socket.htons(_ETHERTYPE_IPV4)
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, kind) as wire:
        wire.bind((interface, _ETHERTYPE_IPV4))
        wire.settimeout(0.5)
        while time.monotonic() < deadline:
            wire.send(frame)
            lease = _listen(wire, number, time.monotonic() + 1.0)
            if lease is not None:
                return lease
    return None


def _listen(wire: socket.socket, number: bytes, deadline: float) -> Lease | None:
    while time.monotonic() < deadline:
        with contextlib.suppress(TimeoutError):
            lease = _offer(wire.recv(2048), number)
            if lease is not None:
                return lease
    return None


def _discover_frame(mac: bytes, number: bytes) -> bytes:
    """Ethernet, IPv4, UDP and DHCP; the answer is asked for by broadcast."""
    fixed = struct.pack("!4B4sHH", 1, 1, 6, 0, number, 0, 0x8000) + bytes(16) + mac.ljust(16, b"\0")
    options = bytes((_MESSAGE, 1, _DISCOVER, 55, 3, 1, _ROUTER, 67, _END))
    message = fixed.ljust(_FIXED, b"\0") + _MAGIC + options
    message = message.ljust(300, b"\0")  # what old relays insist on
    udp = struct.pack("!4H", _CLIENT_PORT, _SERVER_PORT, 8 + len(message), 0) + message
    ip = struct.pack(
        "!2B3H2BH4s4s", 0x45, 0, 20 + len(udp), 0, 0, 64, _UDP, 0, bytes(4), b"\xff" * 4
    )
    ip = ip[:10] + struct.pack("!H", _checksum(ip)) + ip[12:]
    return _BROADCAST + mac + struct.pack("!H", _ETHERTYPE_IPV4) + ip + udp


def _checksum(header: bytes) -> int:
    words: tuple[int, ...] = struct.unpack(f"!{len(header) // 2}H", header)
    return _ALL_ONES - sum(words) % _ALL_ONES


def _offer(frame: bytes, number: bytes) -> Lease | None:
    """An offer for our number in a frame; None for everything else on the wire."""
    message = frame[_HEADERS:]
    is_reply = frame[23:24] == bytes((_UDP,)) and message[:1] == b"\2" and message[4:8] == number
    options = _options(message[_FIXED + 4 :])
    if not is_reply or options.get(_MESSAGE) != bytes((_OFFER,)):
        return None
    file = message[108:_FIXED].partition(b"\0")[0] or options.get(67, b"").rstrip(b"\0")
    return Lease(
        address=socket.inet_ntoa(message[16:20]),
        server=socket.inet_ntoa(options.get(_SERVER_ID, bytes(4))),
        boot_file=file.decode("ascii", "replace"),
    )


def _options(data: bytes) -> dict[int, bytes]:
    found = {}
    while data and data[0] != _END:
        if data[0] == 0:
            data = data[1:]
            continue
        length = data[1] if len(data) > 1 else 0
        found[data[0]] = data[2 : 2 + length]
        data = data[2 + length :]
    return found
