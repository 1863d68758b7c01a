"""The order rescue as it travels, and what it may hold; a value of it is well formed.

Its words are a tenant's: names, keys and addresses become files and arguments of programs, so
each is of one known form before anything is done. Pure, standard library only.
"""

import base64
import ipaddress
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

from provisioner.hardware.inventory import MOST_TEXT
from provisioner.wipe.orders import Message

KEY_TYPES = frozenset(
    {
        "ssh-ed25519",
        "ssh-rsa",
        "ecdsa-sha2-nistp256",
        "ecdsa-sha2-nistp384",
        "ecdsa-sha2-nistp521",
        "sk-ssh-ed25519@openssh.com",
        "sk-ecdsa-sha2-nistp256@openssh.com",
    }
)
"""What the ramdisk's sshd (dropbear 2022.83) lets log in; ssh-dss is none of them."""
MOST_KEYS = 64
_MOST_HOSTNAME = 253
_LEAST_MTU, _MOST_MTU = 68, 9216
_LEAST_MTU_V6 = 1280
_LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
_MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}")

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True, kw_only=True)
class RescueNetwork(Message):
    """One of the server's cards as the instance has it.

    Attributes:
        mac: The card's own, lower case.
        address: With `prefix`; None asks the network by DHCP, and the gateway then is not used.
        default: Its gateway is the way out, where it has one.
    """

    mac: str
    address: str | None
    prefix: int | None
    gateway: str | None
    dns: tuple[str, ...]
    default: bool
    mtu: int | None

    def __post_init__(self) -> None:
        for problem in _network_problems(self):
            raise ValueError(f"network {self.mac[:17]!r}: {problem}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RescueOrder(Message):
    """A rescue system for one tenant.

    Attributes:
        keys: OpenSSH public keys of a line each, without options; one of them logs in as root.
    """

    hostname: str
    keys: tuple[str, ...]
    networks: tuple[RescueNetwork, ...]

    def __post_init__(self) -> None:
        for problem in _order_problems(self):
            raise ValueError(problem)

    @classmethod
    def from_json(cls, body: object) -> Self:
        """Read what the service sent; ValueError says what is not as it must be."""
        keys: Any = body.get("keys") if isinstance(body, dict) else None
        for number, key in enumerate(keys if isinstance(keys, list) else ()):
            if isinstance(key, str) and len(key) > MOST_TEXT:
                raise ValueError(f"keys[{number}] is longer than {MOST_TEXT} characters")
        return super(RescueOrder, cls).from_json(body)


def bare_key(line: str) -> str:
    """Type and base64 of a key's line: its comment goes nowhere."""
    return " ".join(line.split(" ")[:2])


def _order_problems(order: RescueOrder) -> Iterator[str]:
    name = order.hostname
    if len(name) > _MOST_HOSTNAME or not all(map(_LABEL.fullmatch, name.split("."))):
        yield f"hostname {name[:80]!r} is not one"
    if not 1 <= len(order.keys) <= MOST_KEYS:
        yield f"{len(order.keys)} keys: from 1 to {MOST_KEYS} are expected"
    for number, key in enumerate(order.keys):
        yield from (f"keys[{number}] {problem}" for problem in _key_problems(key))
    if not order.networks:
        yield "no network: nobody could log in"
    macs = [each.mac for each in order.networks]
    if len(set(macs)) != len(macs):
        yield "two networks name one card"


def _key_problems(line: str) -> Iterator[str]:
    words = line.split(" ")
    if words[0] not in KEY_TYPES:
        yield f"is not of a known type: {words[0][:40]!r}"
    elif not line.isprintable() or len(words) == 1:
        yield "is not one line of type, base64 and comment"
    elif not _is_blob_of(words[0], words[1]):
        yield f"has a content that is not of type {words[0]}"


def _is_blob_of(kind: str, text: str) -> bool:
    """RFC 4253, section 6.6: strings with their lengths, the type first, up to the end."""
    try:
        blob = base64.b64decode(text, validate=True)
    except ValueError:
        return False
    fields = []
    while blob:
        end = 4 + int.from_bytes(blob[:4], "big")
        if end > len(blob):
            return False
        fields.append(blob[4:end])
        blob = blob[end:]
    return len(fields) > 1 and fields[0] == kind.encode()


def _network_problems(network: RescueNetwork) -> Iterator[str]:
    if not _MAC.fullmatch(network.mac):
        yield "not a card's address in lower case"
    if network.mtu is not None and not _LEAST_MTU <= network.mtu <= _MOST_MTU:
        yield f"MTU {network.mtu} is not from {_LEAST_MTU} to {_MOST_MTU}"
    for text in (*network.dns, *filter(None, (network.gateway,))):
        if parse_address(text) is None:
            yield f"{text[:80]!r} is no address"
    if network.address is None:
        return
    address = parse_address(network.address)
    if address is None or address.is_multicast or address.is_unspecified or address.is_loopback:
        yield f"{network.address[:80]!r} is no machine's address"
    elif network.prefix is None or network.prefix < 1:
        yield f"prefix {network.prefix} does not go with {address}"
    else:
        yield from _subnet_problems(network, ipaddress.ip_interface(f"{address}/{network.prefix}"))


def _subnet_problems(
    network: RescueNetwork, own: ipaddress.IPv4Interface | ipaddress.IPv6Interface
) -> Iterator[str]:
    if own.version == 6 and network.mtu is not None and network.mtu < _LEAST_MTU_V6:  # noqa: PLR2004
        yield f"MTU {network.mtu} is too small for IPv6"
    gateway = parse_address(network.gateway) if network.gateway is not None else None
    if gateway is not None and (gateway not in own.network or gateway == own.ip):
        yield f"gateway {gateway} is not another machine's in {own.network}"


def parse_address(text: str) -> Address | None:
    """An address without a zone: what stands behind a percent sign is anybody's text."""
    try:
        return None if "%" in text else ipaddress.ip_address(text)
    except ValueError:
        return None
