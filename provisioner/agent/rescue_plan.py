"""What makes a rescue system of the ramdisk: commands and files as values. Pure.

Nothing here comes near a shell but the names of network cards, which are the kernel's.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from provisioner.agent.rescue_order import RescueNetwork, RescueOrder, bare_key, parse_address

FOLDER = "/run/rescue"
HOST_KEY = f"{FOLDER}/host_key"
SCRIPT = "/usr/lib/rescue.sh"
SSHD = "/usr/sbin/dropbear"
PORT = 22
_MOST_NAME = 64
"""What the kernel takes as host name (HOST_NAME_MAX); DNS has longer ones."""
_MOST_NAMESERVERS = 3
"""Source: resolv.conf(5), MAXNS."""
_MESSAGE = """\
Rackwright rescue system, all of it in RAM. No disk is mounted; lsblk shows them,
vgchange -ay and mdadm --assemble --scan bring up volumes. poweroff leaves it.
"""
_LVM = """\
activation {
  udev_sync = 0
  udev_rules = 0
  monitoring = 0
}
devices {
  obtain_device_list_from_udev = 0
}
global {
  use_lvmpolld = 0
}
"""
"""There is no udev: LVM makes its own nodes, and waits for nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A text file of root's."""

    text: str
    mode: int = 0o644


def sshd(at: str) -> tuple[str, ...]:
    """The server in the foreground: this host key alone, and nobody by password.

    Args:
        at: A port, or address:port.
    """
    return (SSHD, "-F", "-s", "-r", HOST_KEY, "-p", at)


def network_commands(
    networks: Sequence[RescueNetwork], cards: Mapping[str, str]
) -> tuple[tuple[str, ...], ...]:
    """What takes every card out of the provisioning network and puts the instance's in theirs.

    Args:
        networks: Of the order.
        cards: Address -> the kernel's name, of each card that the server has.
    """
    return (*_taken_down(sorted(cards.values())), *_brought_up(networks, cards))


def _taken_down(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for name in names:
        # down, so that no route, neighbour or address of that network outlives it
        yield ("ip", "link", "set", name, "down")
        yield ("ip", "addr", "flush", "dev", name)


def _brought_up(
    networks: Sequence[RescueNetwork], cards: Mapping[str, str]
) -> Iterator[tuple[str, ...]]:
    for network in networks:
        name = cards[network.mac]
        if network.mtu is not None:
            yield ("ip", "link", "set", name, "mtu", str(network.mtu))
        yield ("ip", "link", "set", name, "up")
        if network.address is not None:
            own = f"{parse_address(network.address)}/{network.prefix}"
            yield ("ip", "addr", "add", own, "dev", name)
    chosen = way_out(networks)
    if chosen is not None and chosen.gateway is not None:
        gateway = parse_address(chosen.gateway)
        family = "-6" if gateway is not None and gateway.version == 6 else "-4"  # noqa: PLR2004
        place = ("default", "via", str(gateway), "dev", cards[chosen.mac])
        yield ("ip", family, "route", "add", *place)


def way_out(networks: Sequence[RescueNetwork]) -> RescueNetwork | None:
    """Whose gateway is the default route, chosen as the instance's own seed chooses it."""
    with_gateway = [each for each in networks if each.gateway and each.address]
    named = [each for each in with_gateway if each.default]
    return next(iter(named or with_gateway), None)


def resolv_conf(networks: Sequence[RescueNetwork]) -> str:
    """The name servers, those of the default network first, each once."""
    ordered = sorted(networks, key=lambda each: not each.default)
    servers = dict.fromkeys(str(parse_address(one)) for each in ordered for one in each.dns)
    return "".join(f"nameserver {each}\n" for each in list(servers)[:_MOST_NAMESERVERS])


def authorized_keys(keys: Sequence[str]) -> str:
    """Type and key alone, a line each."""
    return "".join(f"{bare_key(each)}\n" for each in keys)


def kernel_name(hostname: str) -> str:
    """The host name, or its first label where the whole is too long for a kernel."""
    return hostname if len(hostname) <= _MOST_NAME else hostname.partition(".")[0]


def inittab(asking: Sequence[str]) -> str:
    """What busybox's init keeps running.

    Args:
        asking: Names of the cards whose address comes by DHCP.
    """
    lines = [
        f"::sysinit:{SCRIPT} begin",
        f"::once:{SCRIPT} announce",
        f"::respawn:{' '.join(sshd(str(PORT)))}",
        *(f"::respawn:/usr/bin/udhcpc -f -i {name} -s {SCRIPT}" for name in asking),
        f"::shutdown:{SCRIPT} end",
    ]
    return "".join(f"{line}\n" for line in lines)


def files(order: RescueOrder, cards: Mapping[str, str]) -> Mapping[str, File]:
    """Path -> content, of everything that is written before the agent ends."""
    named = [each for each in order.networks if each.default and each.address is None]
    asking = [cards[each.mac] for each in order.networks if each.address is None]
    static = [str(parse_address(each.address)) for each in order.networks if each.address]
    return {
        "/etc/passwd": File(text="root:*:0:0:root:/root:/bin/sh\n"),
        "/etc/group": File(text="root:x:0:\ntty:x:5:\n"),
        "/etc/shells": File(text="/bin/sh\n"),
        "/etc/profile": File(text="PS1='\\h:\\w\\$ '\n"),
        "/etc/motd": File(text=_MESSAGE),
        "/etc/filesystems": File(text="ext4\nxfs\nbtrfs\nvfat\niso9660\n"),
        "/etc/lvm/lvm.conf": File(text=_LVM),
        "/etc/hosts": File(
            text=f"127.0.0.1 localhost\n::1 localhost\n127.0.1.1 {order.hostname}\n"
        ),
        "/etc/resolv.conf": File(text=resolv_conf(order.networks)),
        "/etc/inittab": File(text=inittab(asking)),
        "/etc/acpi/PWRF/00000080": File(text="#!/bin/sh\nexec /usr/bin/poweroff\n", mode=0o755),
        "/root/.ssh/authorized_keys": File(text=authorized_keys(order.keys), mode=0o600),
        f"{FOLDER}/addresses": File(text="".join(f"{each}\n" for each in static)),
        f"{FOLDER}/first": File(text="".join(f"{cards[each.mac]}\n" for each in named)),
    }
