import asyncio
import time

from provisioner.adapters.dnsmasq import DnsmasqOffers
from provisioner.units import MacAddress, ServerName, WallSeconds

MAC = MacAddress("52:54:00:66:01:01")


def test_offer_and_withdrawal_leave_one_readable_file_and_nothing_half_written(tmp_path):
    offers = DnsmasqOffers(hosts=tmp_path, log=tmp_path / "log")
    file = tmp_path / "52-54-00-66-01-01"

    asyncio.run(offers.offer(MAC, ServerName("bios1")))
    assert file.read_text() == "52:54:00:66:01:01,bios1,10m\n"
    assert file.stat().st_mode & 0o777 == 0o644

    asyncio.run(offers.withdraw(MAC))
    asyncio.run(offers.withdraw(MAC))
    assert file.read_text() == "52:54:00:66:01:01,ignore\n"
    assert list(tmp_path.iterdir()) == [file]


def test_lines_come_from_the_log_and_no_log_means_no_lines(tmp_path):
    log = tmp_path / "log"
    offers = DnsmasqOffers(hosts=tmp_path, log=log)
    since = WallSeconds(time.time() - 60)
    assert asyncio.run(offers.lines(MAC, since)) == ()

    line = f"{time.strftime('%b %e %H:%M:%S')} dnsmasq-dhcp[7]: 1 DHCPDISCOVER(br-prov) {MAC}"
    log.write_text(f"{line}\n")

    assert asyncio.run(offers.lines(MAC, since)) == (line,)
