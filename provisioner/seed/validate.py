"""Whether a request can become a seed; asked before any server is touched."""

import base64
import binascii
import ipaddress
import re
from collections.abc import Iterator

from provisioner.errors import ErrorCode, InputError
from provisioner.seed.nocloud import hostname_of
from provisioner.servers.allocation import InstanceRequest, TenantNetwork

MOST_USER_DATA_BASE64 = 1_048_576
"""CloudStack's own ceiling, in characters of base64."""
MOST_USER_DATA = MOST_USER_DATA_BASE64 // 4 * 3
MOST_SSH_KEYS = 64
MOST_PASSWORD = 256
_LEAST_MTU, _MOST_MTU = 68, 9216
_LEAST_MTU_V6 = 1280
_POINT_TO_POINT = 31
"""RFC 3021: from this prefix on a subnet has no addresses of its own."""
_MOST_HOSTNAME = 253
_MOST_KEY = 16_384
_LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
_KEY = re.compile(r"((?:ssh|ecdsa|sk-ssh|sk-ecdsa)-[a-z0-9@.-]+) ([A-Za-z0-9+/]+={0,2})(?: .*)?")


def check_seed(request: InstanceRequest, *, ports: int) -> None:
    """Refuse what cannot become a seed, naming all that is wrong at once.

    Args:
        request: As the verb read it.
        ports: How many tenant ports the server (or any of the pool) has.

    Raises:
        InputError: SEED_INVALID, or NETWORKS_TOO_MANY or USER_DATA_TOO_LARGE alone.
    """
    if len(request.networks) > ports:
        raise InputError(
            ErrorCode.NETWORKS_TOO_MANY,
            f"{len(request.networks)} networks are asked for, the server has {ports} tenant ports",
        )
    if len(request.user_data or b"") > MOST_USER_DATA:
        raise InputError(
            ErrorCode.USER_DATA_TOO_LARGE,
            f"user data may have {MOST_USER_DATA_BASE64} characters of base64",
        )
    problems = tuple(find_problems(request))
    if problems:
        raise InputError(ErrorCode.SEED_INVALID, "; ".join(problems))


def find_problems(request: InstanceRequest) -> Iterator[str]:
    """What is wrong with the request, one line each, with the place."""
    yield from _hostname_problems(hostname_of(request))
    if len(request.ssh_keys) > MOST_SSH_KEYS:
        yield f"more than {MOST_SSH_KEYS} SSH keys"
    for n, key in enumerate(request.ssh_keys[:MOST_SSH_KEYS]):
        yield from (f"SSH key {n}: {each}" for each in _key_problems(key.strip()))
    if request.password is not None and len(request.password.reveal()) > MOST_PASSWORD:
        yield f"the password has more than {MOST_PASSWORD} characters"
    seen: dict[str, int] = {}
    for n, network in enumerate(request.networks):
        yield from (f"network {n}: {each}" for each in _network_problems(network))
        if network.address is not None and seen.setdefault(network.address, n) != n:
            yield f"network {n}: address {network.address} is network {seen[network.address]}'s too"


def _hostname_problems(name: str) -> Iterator[str]:
    labels = name.split(".")
    if len(name) > _MOST_HOSTNAME or not all(_LABEL.fullmatch(each) for each in labels):
        yield f"hostname {name[:80]!r} is not one (letters, digits, dashes, at most 63 a label)"


def _key_problems(key: str) -> Iterator[str]:
    found = _KEY.fullmatch(key)
    if found is None or len(key) > _MOST_KEY or not key.isprintable():
        yield "not one line of type, base64 and comment"
        return
    kind = found[1].encode()
    try:
        blob = base64.b64decode(found[2], validate=True)
    except binascii.Error:
        yield "not base64"
        return
    # the blob begins with its own type, length first
    if blob[:4] != len(kind).to_bytes(4, "big") or blob[4 : 4 + len(kind)] != kind:
        yield f"its content is not of type {found[1]}"


def _network_problems(network: TenantNetwork) -> Iterator[str]:
    if network.mtu is not None and not _LEAST_MTU <= network.mtu <= _MOST_MTU:
        yield f"MTU {network.mtu} is not from {_LEAST_MTU} to {_MOST_MTU}"
    for server in network.dns:
        if _address(server) is None:
            yield f"DNS server {server[:80]!r} is no address"
    if network.address is None:
        return
    address = _address(network.address)
    if address is None:
        yield f"{network.address[:80]!r} is no address"
    elif network.prefix is None or not 1 <= network.prefix <= address.max_prefixlen:
        yield f"prefix {network.prefix} does not go with {address}"
    else:
        interface = ipaddress.ip_interface(f"{address}/{network.prefix}")
        yield from _subnet_problems(network, interface)


def _subnet_problems(
    network: TenantNetwork, own: ipaddress.IPv4Interface | ipaddress.IPv6Interface
) -> Iterator[str]:
    if own.ip.is_multicast or own.ip.is_unspecified or own.ip.is_loopback:
        yield f"{own.ip} cannot be a machine's address"
    if isinstance(own, ipaddress.IPv6Interface):
        if network.mtu is not None and network.mtu < _LEAST_MTU_V6:
            yield f"MTU {network.mtu} is too small for IPv6"
    elif own.network.prefixlen < _POINT_TO_POINT and own.ip in {own.network[0], own.network[-1]}:
        yield f"{own.ip} is the subnet's own or broadcast address"
    if network.gateway is not None:
        yield from _gateway_problems(network.gateway, own)


def _gateway_problems(
    text: str, own: ipaddress.IPv4Interface | ipaddress.IPv6Interface
) -> Iterator[str]:
    gateway = _address(text)
    if gateway is None:
        yield f"gateway {text[:80]!r} is no address"
    elif gateway not in own.network:
        yield f"gateway {gateway} is not in {own.network}"
    elif gateway == own.ip:
        yield f"gateway {gateway} is the machine's own address"


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None
