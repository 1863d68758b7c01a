"""The rack's networks: bridges, the servers' persistent taps, and who is plugged in where."""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from provisioner.lab import namespaces
from provisioner.lab.commands import attempt, run
from provisioner.lab.layout import (
    CONTROLLER_BRIDGE,
    CONTROLLER_NETWORK,
    PROVISIONING,
    PROVISIONING_BRIDGE,
    PROVISIONING_V6,
    Layout,
    tenant_bridge,
)
from provisioner.units import MacAddress, Vlan

_SYSCTL = {
    # answer for an address only where it is: else Linux answers for all of them everywhere,
    # and a proof of isolation proves nothing
    "ipv4/conf/all/arp_ignore": "1",
    "ipv4/conf/all/rp_filter": "1",
    "ipv4/ip_forward": "0",
    # a bridge or tap made later gets no address by itself
    "ipv6/conf/default/disable_ipv6": "1",
}
_BRIDGE_MACS = {PROVISIONING_BRIDGE: "02:66:00:00:00:01", CONTROLLER_BRIDGE: "02:66:00:00:00:02"}
"""Fixed: a bridge without one takes the lowest of its ports' and changes it as they come and go;
neighbours then talk to a dead address."""


def up(layout: Layout) -> None:
    """Make whatever of it is missing; taps that exist stay where they are plugged in."""
    for namespace in (layout.rack, layout.tenant):
        namespaces.make(namespace)
        namespaces.inside(namespace, _set_sysctl)
    there = links(layout.rack)
    if PROVISIONING_BRIDGE not in there:
        _make_bridge(layout, PROVISIONING_BRIDGE, [str(PROVISIONING)])
        namespaces.inside(layout.rack, _allow_ipv6)
        address = [str(PROVISIONING_V6), "dev", PROVISIONING_BRIDGE, "nodad"]
        run(["ip", "-n", layout.rack, "addr", "add", *address])
    if CONTROLLER_BRIDGE not in there:
        prefix = CONTROLLER_NETWORK.network.prefixlen
        controllers = [f"{server.controller}/{prefix}" for server in layout.servers]
        _make_bridge(layout, CONTROLLER_BRIDGE, [str(CONTROLLER_NETWORK), *controllers])
    for server in layout.servers:
        if server.tap not in there:
            _make_tap(layout, server.tap)


def down(layout: Layout) -> None:
    """Take both namespaces away, with everything that is plugged together in them."""
    if namespaces.exists(layout.rack):
        # a namespace goes a moment after its name; a link to another one must go before,
        # or the next `up` finds it still there
        for name, link in links(layout.rack).items():
            if link.kind == "veth":
                attempt(["ip", "-n", layout.rack, "link", "del", name])
    for namespace in (layout.tenant, layout.rack):
        namespaces.remove(namespace)


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A link as the kernel shows it.

    Attributes:
        kind: "bridge", "tun", "veth", or "" for the loopback.
        master: The bridge that it is plugged into; None where it is not.
    """

    kind: str
    mac: MacAddress
    master: str | None
    is_up: bool


def links(namespace: str) -> dict[str, Link]:
    """All links by name."""
    shown = json.loads(run(["ip", "-n", namespace, "-details", "-json", "link", "show"]))
    return {
        link["ifname"]: Link(
            kind=link.get("linkinfo", {}).get("info_kind", ""),
            mac=MacAddress(link["address"]),
            master=link.get("master"),
            is_up="UP" in link["flags"],
        )
        for link in shown
    }


def attach(
    layout: Layout,
    *,
    bridge: str,
    namespace: str,
    interface: str,
    address: str = "",
    mac: MacAddress | None = None,
) -> None:
    """Plug a namespace into a bridge of the rack.

    Args:
        layout: Which rack.
        bridge: A tenant's bridge is made where it is missing.
        namespace: Exists already.
        interface: Its name there; the rack's side is called the same, with "p-" before it. At
            most 13 characters.
        address: With prefix length; "" for an interface that only sends and listens.
        mac: None for one of the kernel's choice.
    """
    there = links(layout.rack)
    if bridge not in there:
        _make_bridge(layout, bridge, [])
    peer = f"p-{interface}"
    if peer not in there:
        other_end = ["type", "veth", "peer", "name", interface, "netns", namespace]
        run(["ip", "-n", layout.rack, "link", "add", peer, *other_end])
    if mac is not None:
        run(["ip", "-n", namespace, "link", "set", interface, "address", mac])
    run(["ip", "-n", layout.rack, "link", "set", peer, "master", bridge, "up"])
    run(["ip", "-n", namespace, "link", "set", interface, "up"])
    if address:
        run(["ip", "-n", namespace, "addr", "replace", address, "dev", interface])


def detach(layout: Layout, interface: str) -> None:
    """Unplug what `attach` plugged in; safe to repeat."""
    attempt(["ip", "-n", layout.rack, "link", "del", f"p-{interface}"])


def attach_tenant(layout: Layout, vlan: Vlan, address: str) -> str:
    """Give the tenants' namespace an address in a VLAN (as the gateway there); its interface.

    Two VLANs with overlapping networks would meet in one routing table: give them different ones.
    """
    interface = f"v{vlan}"
    attach(
        layout,
        bridge=tenant_bridge(vlan),
        namespace=layout.tenant,
        interface=interface,
        address=address,
    )
    return interface


@contextlib.contextmanager
def stranger(
    layout: Layout, bridge: str, *, mac: MacAddress | None = None, address: str = ""
) -> Iterator[str]:
    """A machine that nobody enrolled, plugged into a bridge: a namespace, gone afterwards."""
    namespace = f"{layout.prefix}-stranger"
    namespaces.make(namespace)
    try:
        attach(
            layout, bridge=bridge, namespace=namespace, interface="eth0", address=address, mac=mac
        )
        yield namespace
    finally:
        detach(layout, "eth0")
        namespaces.remove(namespace)


def _make_bridge(layout: Layout, bridge: str, addresses: list[str]) -> None:
    kind = ["type", "bridge", "stp_state", "0", "forward_delay", "0", "mcast_snooping", "0"]
    run(["ip", "-n", layout.rack, "link", "add", "name", bridge, *kind])
    if bridge in _BRIDGE_MACS:
        run(["ip", "-n", layout.rack, "link", "set", bridge, "address", _BRIDGE_MACS[bridge]])
    for address in addresses:
        run(["ip", "-n", layout.rack, "addr", "add", address, "dev", bridge])
    run(["ip", "-n", layout.rack, "link", "set", bridge, "up"])


def _make_tap(layout: Layout, tap: str) -> None:
    """A tap that outlives the power: one that QEMU makes goes away with it, and so does its place.

    It starts as a port does that nobody placed: up, and leading nowhere.
    """
    made = ["ip", "tuntap", "add", "dev", tap, "mode", "tap", "vnet_hdr"]
    run(namespaces.argv_inside(layout.rack, made))
    run(["ip", "-n", layout.rack, "link", "set", tap, "up"])


def _set_sysctl() -> None:
    for name, value in _SYSCTL.items():
        (Path("/proc/sys/net") / name).write_text(value)


def _allow_ipv6() -> None:
    name = f"/proc/sys/net/ipv6/conf/{PROVISIONING_BRIDGE}/disable_ipv6"
    Path(name).write_text("0")
