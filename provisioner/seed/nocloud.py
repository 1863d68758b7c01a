"""A NoCloud seed as texts: what an instance asked for, with the server's own MAC addresses.

Written in the plainest YAML (two spaces, quoted values), so that the tiny system's shell reads
it as cloud-init does; equal requests give equal bytes.

Source: cloud-init 22.4, "NoCloud" and "Networking config Version 2".
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from provisioner.seed.password_hash import sha512_crypt
from provisioner.servers.allocation import InstanceRequest, TenantNetwork
from provisioner.units import MacAddress

MOST_LABEL = 63


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedTexts:
    """The four files of a seed.

    Attributes:
        user_data: The tenant's bytes as they came; empty where there are none.
        vendor_data: The hashed password, where the instance has one.
    """

    meta_data: str
    user_data: bytes
    vendor_data: str
    network_config: str

    def files(self) -> dict[str, bytes]:
        """Name on the volume -> content."""
        return {
            "meta-data": self.meta_data.encode(),
            "network-config": self.network_config.encode(),
            "user-data": self.user_data,
            "vendor-data": self.vendor_data.encode(),
        }


def compose_seed(request: InstanceRequest, macs: Sequence[MacAddress], *, salt: str) -> SeedTexts:
    """The seed of an instance on a server; the request has passed `validate.check_seed`.

    Args:
        request: What was asked for.
        macs: Of the server's tenant cards, in order: network n goes to the n-th.
        salt: 16 random characters of [a-zA-Z0-9./] for the password's hash; unused without one.
    """
    return SeedTexts(
        meta_data="".join(f"{line}\n" for line in _meta_data(request)),
        user_data=request.user_data or b"",
        vendor_data="".join(f"{line}\n" for line in _vendor_data(request, salt)),
        network_config="".join(f"{line}\n" for line in _network_config(request.networks, macs)),
    )


def hostname_of(request: InstanceRequest) -> str:
    """The payload's own hostname, else the instance's name in the form of RFC 1123."""
    if request.hostname:
        return request.hostname
    label = re.sub(r"[^A-Za-z0-9-]+", "-", request.name)[:MOST_LABEL].strip("-")
    return label or "instance"


def quoted(text: str) -> str:
    """A YAML double-quoted scalar; control characters are escaped."""
    return json.dumps(text, ensure_ascii=False)


def _meta_data(request: InstanceRequest) -> Iterator[str]:
    yield f"instance-id: {quoted(request.seed_id or request.key.instance)}"
    yield f"local-hostname: {quoted(hostname_of(request))}"
    if request.ssh_keys:
        yield "public-keys:"
        for key in request.ssh_keys:
            yield f"  - {quoted(key.strip())}"


def _vendor_data(request: InstanceRequest, salt: str) -> Iterator[str]:
    """The same three settings that cloud-init's CloudStack data source makes of a password."""
    yield "#cloud-config"
    if request.password is None:
        yield "{}"
        return
    yield f"password: {quoted(sha512_crypt(request.password.reveal(), salt))}"
    yield "chpasswd:"
    yield "  expire: false"
    yield "ssh_pwauth: true"


def _network_config(networks: Sequence[TenantNetwork], macs: Sequence[MacAddress]) -> Iterator[str]:
    yield "version: 2"
    if not networks:
        yield "ethernets: {}"
        return
    yield "ethernets:"
    way_out = _way_out(networks)
    for n, (network, mac) in enumerate(zip(networks, macs, strict=True)):
        yield f"  eth{n}:"
        yield "    match:"
        yield f"      macaddress: {quoted(mac)}"
        yield f"    set-name: eth{n}"
        if network.mtu is not None:
            yield f"    mtu: {network.mtu}"
        if network.address is None:
            yield "    dhcp4: true"
            yield "    optional: true"
            continue
        yield from _static(network, has_default_route=n == way_out)


def _static(network: TenantNetwork, *, has_default_route: bool) -> Iterator[str]:
    yield "    addresses:"
    yield f"      - {quoted(f'{network.address}/{network.prefix}')}"
    if has_default_route:
        everywhere = "::/0" if ":" in str(network.gateway) else "0.0.0.0/0"
        yield "    routes:"
        yield f"      - to: {quoted(everywhere)}"
        yield f"        via: {quoted(str(network.gateway))}"
    if network.dns:
        yield "    nameservers:"
        yield "      addresses:"
        for server in network.dns:
            yield f"        - {quoted(server)}"


def _way_out(networks: Sequence[TenantNetwork]) -> int | None:
    """Which network's gateway is the default route: the default one's, else the first there is."""
    with_gateway = [n for n, each in enumerate(networks) if each.gateway and each.address]
    named = [n for n in with_gateway if networks[n].default]
    return next(iter(named or with_gateway), None)
