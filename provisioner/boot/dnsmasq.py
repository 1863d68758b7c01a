"""The DHCP and TFTP server of a provisioning network: its configuration, offers and log."""

import re
from dataclasses import dataclass
from datetime import datetime
from ipaddress import IPv4Address
from pathlib import Path

from provisioner.errors import ErrorCode, InputError
from provisioner.units import MacAddress, ServerName, WallSeconds

BIOS_LOADER = "undionly.kpxe"
UEFI_LOADER = "snponly.efi"
"""iPXE for the firmware's own network stack, one for each kind of firmware."""
FIRST_SCRIPT = "rackwright.ipxe"
"""What iPXE is given, of ipxe.ask: from here, so that it is there while the service is not."""

_PLAIN = re.compile(r"[A-Za-z0-9_./:@+-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class DhcpServer:
    """What the server needs to know.

    Attributes:
        interface: The only one it listens on.
        address: Of this machine on it: next-server, and where TFTP answers.
        first: Of the range, inclusive, as `last`.
        netmask: Of the provisioning network.
        hosts: Folder of one file a MAC; whoever is not in it gets no answer.
        tftp: Folder with the two loaders and the first script.
        router_advertisements: iPXE waits 13 s for one; the interface needs an IPv6 /64 for it.
    """

    interface: str
    address: IPv4Address
    first: IPv4Address
    last: IPv4Address
    netmask: IPv4Address
    hosts: Path
    tftp: Path
    lease_file: Path
    log_file: Path
    pid_file: Path
    user: str
    router_advertisements: bool = True
    lease: str = "10m"


def configuration(server: DhcpServer) -> str:
    """The whole text of dnsmasq.conf: DHCP for known MACs, TFTP for iPXE, no DNS.

    Host lines never carry `set:`, which makes dnsmasq 2.90 abort at the next SIGHUP.

    Raises:
        InputError: CONFIG_INVALID: a path or name that dnsmasq would read as syntax.
    """
    plain = _plain
    address = str(server.address)
    lines = [
        "# Written by rackwright; changes are lost.",
        "port=0",
        f"user={plain(server.user)}",
        f"pid-file={plain(str(server.pid_file))}",
        f"interface={plain(server.interface)}",
        "except-interface=lo",
        "bind-interfaces",
        f"dhcp-range={server.first},{server.last},{server.netmask},{plain(server.lease)}",
        f"dhcp-hostsdir={plain(str(server.hosts))}",
        "dhcp-ignore=tag:!known",
        "dhcp-authoritative",
        "dhcp-no-override",
        "no-ping",
        "dhcp-option=option:router",
        f"dhcp-leasefile={plain(str(server.lease_file))}",
        "log-dhcp",
        f"log-facility={plain(str(server.log_file))}",
        "enable-tftp",
        f"tftp-root={plain(str(server.tftp))}",
        "dhcp-match=set:ipxe,175",
        "dhcp-match=set:efi64,option:client-arch,7",
        "dhcp-match=set:efi64,option:client-arch,9",
        f"dhcp-boot=tag:ipxe,{FIRST_SCRIPT},,{address}",
        f"dhcp-boot=tag:!ipxe,tag:efi64,{UEFI_LOADER},,{address}",
        f"dhcp-boot=tag:!ipxe,tag:!efi64,{BIOS_LOADER},,{address}",
    ]
    if server.router_advertisements:
        lines += [
            "enable-ra",
            f"dhcp-range=::,constructor:{server.interface},ra-only,64,10m",
            f"ra-param={server.interface},10,600",
        ]
    return "\n".join(lines) + "\n"


def host_file(mac: MacAddress) -> str:
    """The name of a MAC's file in the hosts folder: always the same one.

    dnsmasq remembers the MACs of a file until it is told to forget; a file whose line changed
    to another MAC would leave the old one known.
    """
    return _mac(mac).replace(":", "-")


def offer_line(mac: MacAddress, server: ServerName) -> str:
    """From now on this MAC gets an answer."""
    return f"{_mac(mac)},{_plain(server)},10m\n"


def withdraw_line(mac: MacAddress) -> str:
    """From now on it gets none; deleting the file alone would do nothing until a SIGHUP."""
    return f"{_mac(mac)},ignore\n"


_LINE = re.compile(r"(?P<when>\w{3} [ \d]\d \d\d:\d\d:\d\d) dnsmasq[\w-]*\[\d+\]: (?P<text>.*)")
_ACK = re.compile(r"DHCPACK\(\S+\) (?P<address>[\d.]+) (?P<mac>[0-9a-f:]{17})")


def lines_of(log: str, mac: MacAddress, since: WallSeconds) -> tuple[str, ...]:
    """What the log says about one MAC: its DHCP exchanges whole, and the files sent to it.

    Only the first line of an exchange names the MAC; the others carry the exchange's number.
    TFTP lines carry the address that was given to the MAC.

    Args:
        log: Lines as `log-facility` to a file gives them: local time, without a year.
        mac: Whose.
        since: Lines older than this are left out; the log counts whole seconds.
    """
    mac = _mac(mac)
    matches = [match for match in map(_LINE.fullmatch, log.splitlines()) if match is not None]
    recent = [match for match in matches if _when(match["when"], since) >= int(since)]
    numbers = {_number(match["text"]) for match in recent if mac in match["text"]} - {""}
    holders: dict[str, str] = {}
    found = []
    for match in recent:
        text = match["text"]
        holders |= {ack["address"]: ack["mac"] for ack in _ACK.finditer(text)}
        receiver = holders.get(text.rpartition(" to ")[2])
        if mac in text or _number(text) in numbers or receiver == mac:
            found.append(match.string)
    return tuple(found)


def _number(text: str) -> str:
    head = text.partition(" ")[0]
    return head if head.isdigit() else ""


def _when(text: str, near: float) -> float:
    """The time of a line; its year is the one that brings it closest to `near`."""
    around = datetime.fromtimestamp(near).astimezone()
    moments = []
    for year in (around.year - 1, around.year, around.year + 1):
        try:
            moment = datetime.strptime(f"{year} {text}", "%Y %b %d %H:%M:%S").astimezone()
        except ValueError:  # 29 February of another year
            continue
        moments.append(moment.timestamp())
    return min(moments, key=lambda moment: abs(moment - near), default=0.0)


def _mac(mac: MacAddress) -> MacAddress:
    if not re.fullmatch(r"(?:[0-9a-f]{2}:){5}[0-9a-f]{2}", mac):
        raise InputError(ErrorCode.MANIFEST_INVALID, f"{mac!r} is not a MAC address")
    return mac


def _plain(value: str) -> str:
    if not _PLAIN.fullmatch(value):
        raise InputError(
            ErrorCode.CONFIG_INVALID, f"{value!r} cannot stand in the DHCP server's configuration"
        )
    return value
