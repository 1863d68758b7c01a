"""A payload's NICs as the networks that a tenant wants. Pure.

CloudStack's `nicUuid` is the NIC's; its `uuid` is the network's. Of the NICs the n-th goes to
the server's n-th tenant port, in the order of `deviceId`.
"""

import ipaddress
import re

from cloudstack_ext.fields import Field
from provisioner.errors import ErrorCode, InputError
from provisioner.servers.allocation import TenantNetwork
from provisioner.units import MacAddress, Vlan

UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
MAC = re.compile(r"[0-9a-fA-F]{2}(?::[0-9a-fA-F]{2}){5}")
VLAN = re.compile(r"vlan://([1-9][0-9]{0,3})")
VLAN_MOST = 4094
NICS_MOST = 64
"""Far more than any server has ports; keeps an answer that names each NIC short."""


def read_networks(nics: Field) -> tuple[TenantNetwork, ...]:
    """All NICs in the order of their ports.

    Raises:
        InputError: PAYLOAD_FIELD, or NETWORKS_TOO_MANY.
    """
    fields = nics.items()
    if len(fields) > NICS_MOST:
        raise InputError(ErrorCode.NETWORKS_TOO_MANY, f"{len(fields)} networks are asked for")
    placed = [(nic["deviceId"].number(0, 1000) or 0, read_network(nic)) for nic in fields]
    placed.sort(key=lambda pair: pair[0])
    networks = tuple(network for _, network in placed)
    if len({network.nic_uuid for network in networks}) < len(networks):
        nics.refuse("each nicUuid once")
    return networks


def read_network(nic: Field) -> TenantNetwork:
    """One NIC."""
    uuid, mac = nic["nicUuid"], nic["mac"]
    address = _ipv4(nic["ip"])
    dns = (_ipv4(nic[key]) for key in ("dns1", "dns2"))
    return TenantNetwork(
        nic_uuid=uuid.must(uuid.matching(UUID, "a uuid"), "a uuid").lower(),
        mac=MacAddress(mac.must(mac.matching(MAC, "a MAC address"), "a MAC address").lower()),
        vlan=_vlan(nic["broadcastUri"]),
        address=address,
        prefix=None if address is None else _prefix(nic["netmask"]),
        gateway=None if address is None else _ipv4(nic["gateway"]),
        dns=tuple(each for each in dns if each),
        default=nic["defaultNic"].truth(),
        mtu=nic["mtu"].number(68, 65535),
    )


def _vlan(uri: Field) -> Vlan | None:
    """None while the network has none; other kinds of network cannot be given to a server."""
    text = uri.text()
    if text is None:
        return None
    found = VLAN.fullmatch(text)
    if not found or int(found[1]) > VLAN_MOST:
        uri.refuse(f"vlan://N with N from 1 to {VLAN_MOST}")
    return Vlan(int(found[1]))


def _ipv4(field: Field) -> str | None:
    text = field.text()
    if not text:
        return None
    try:
        return str(ipaddress.IPv4Address(text))
    except ValueError:
        field.refuse("an IPv4 address")


def _prefix(field: Field) -> int:
    text = field.must(_ipv4(field), "a netmask")
    inverted = int(ipaddress.IPv4Address(text)) ^ 0xFFFFFFFF
    if inverted & (inverted + 1) or inverted == 0xFFFFFFFF:  # noqa: PLR2004 all ones
        field.refuse("a netmask")
    return 32 - inverted.bit_length()
