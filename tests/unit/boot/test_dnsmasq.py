import time
from dataclasses import replace
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from provisioner.boot.dnsmasq import (
    DhcpServer,
    configuration,
    host_file,
    lines_of,
    offer_line,
    withdraw_line,
)
from provisioner.errors import InputError
from provisioner.units import MacAddress, ServerName, WallSeconds

MAC = MacAddress("52:54:00:66:01:01")
SERVER = DhcpServer(
    interface="br-prov",
    address=IPv4Address("10.66.0.1"),
    first=IPv4Address("10.66.0.100"),
    last=IPv4Address("10.66.0.200"),
    netmask=IPv4Address("255.255.255.0"),
    hosts=Path("/var/lib/rackwright/hosts"),
    tftp=Path("/var/lib/rackwright/tftp"),
    lease_file=Path("/var/lib/rackwright/leases"),
    log_file=Path("/var/log/rackwright/dnsmasq.log"),
    pid_file=Path("/run/rackwright/dnsmasq.pid"),
    user="dnsmasq",
)
# dnsmasq 2.90 with log-dhcp; two machines whose exchanges overlap
LOG = """\
Nov 30 10:00:00 dnsmasq-dhcp[7]: 11 available DHCP range: 10.66.0.100 -- 10.66.0.200
Nov 30 10:00:00 dnsmasq-dhcp[7]: 11 DHCPDISCOVER(br-prov) 52:54:00:66:01:01
Nov 30 10:00:00 dnsmasq-dhcp[7]: 22 available DHCP range: 10.66.0.100 -- 10.66.0.200
Nov 30 10:00:00 dnsmasq-dhcp[7]: 11 vendor class: PXEClient:Arch:00007:UNDI:003001
Nov 30 10:00:01 dnsmasq-dhcp[7]: 22 DHCPDISCOVER(br-prov) 52:54:00:66:01:02 ignored
Nov 30 10:00:02 dnsmasq-dhcp[7]: 12 DHCPACK(br-prov) 10.66.0.101 52:54:00:66:01:01 bios1
Nov 30 10:00:03 dnsmasq-tftp[7]: sent /tftp/snponly.efi to 10.66.0.101
Nov 30 10:00:04 dnsmasq-tftp[7]: sent /tftp/snponly.efi to 10.66.0.102
Nov 30 10:09:00 dnsmasq-dhcp[7]: 13 DHCPACK(br-prov) 10.66.0.101 52:54:00:66:01:02 uefi1
Nov 30 10:09:01 dnsmasq-tftp[7]: sent /tftp/undionly.kpxe to 10.66.0.101
a line of another shape
"""


def at(text: str) -> WallSeconds:
    return WallSeconds(time.mktime(time.strptime(f"2026 {text}", "%Y %b %d %H:%M:%S")))


def test_nobody_unknown_gets_an_answer_and_names_are_not_served():
    lines = configuration(SERVER).splitlines()

    assert "dhcp-ignore=tag:!known" in lines
    assert "port=0" in lines
    assert "dhcp-hostsdir=/var/lib/rackwright/hosts" in lines


def test_each_firmware_gets_its_loader_and_ipxe_the_script_with_its_own_mac():
    lines = configuration(SERVER).splitlines()

    assert "dhcp-boot=tag:ipxe,rackwright.ipxe,,10.66.0.1" in lines
    assert "dhcp-boot=tag:!ipxe,tag:efi64,snponly.efi,,10.66.0.1" in lines
    assert "dhcp-boot=tag:!ipxe,tag:!efi64,undionly.kpxe,,10.66.0.1" in lines


def test_advertisements_only_where_the_site_wants_them():
    quiet = configuration(replace(SERVER, router_advertisements=False))

    assert "enable-ra" in configuration(SERVER)
    assert "ra-" not in quiet
    assert "enable-ra" not in quiet


def test_a_value_that_dnsmasq_would_read_as_syntax_is_refused():
    with pytest.raises(InputError):
        configuration(replace(SERVER, interface="br-prov\ndhcp-script=/bin/sh"))


def test_offer_and_withdrawal_are_one_file_of_one_line_without_tags():
    assert host_file(MAC) == "52-54-00-66-01-01"
    assert offer_line(MAC, ServerName("bios1")) == "52:54:00:66:01:01,bios1,10m\n"
    assert withdraw_line(MAC) == "52:54:00:66:01:01,ignore\n"


@pytest.mark.parametrize("mac", ["../../etc/passwd", "52:54:00:66:01", "52:54:00:66:01:01,x"])
def test_what_is_no_mac_never_becomes_a_file_name(mac):
    with pytest.raises(InputError):
        host_file(MacAddress(mac))


def test_log_of_one_mac_has_its_exchanges_whole_and_the_files_sent_to_its_address():
    numbers = [LOG.splitlines().index(line) for line in lines_of(LOG, MAC, at("Nov 30 09:00:00"))]

    assert numbers == [0, 1, 3, 5, 6]


def test_older_lines_are_left_out_also_across_the_turn_of_the_year():
    log = (
        "Dec 31 23:59:58 dnsmasq-dhcp[7]: 1 DHCPDISCOVER(br-prov) 52:54:00:66:01:01\n"
        "Jan  1 00:00:02 dnsmasq-dhcp[7]: 2 DHCPDISCOVER(br-prov) 52:54:00:66:01:01\n"
    )

    assert len(lines_of(log, MAC, at("Dec 31 23:00:00"))) == 2
    assert len(lines_of(log, MAC, at("Dec 31 23:59:59"))) == 1
    assert lines_of(LOG, MAC, at("Nov 30 11:00:00")) == ()
