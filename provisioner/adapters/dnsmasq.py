"""Offers of the DHCP server, by the folder of host files that dnsmasq watches."""

import asyncio
import os
from pathlib import Path

from provisioner.boot import dnsmasq
from provisioner.units import MacAddress, ServerName, WallSeconds

_NEWEST_BYTES = 4 << 20
"""How far back in the log is looked: some days of a quiet network, an hour of a busy one."""


class DnsmasqOffers:
    """ports.BootOffers: one file a MAC, replaced whole; dnsmasq sees it within 0.2 s.

    Args:
        hosts: The folder that the configuration names as dhcp-hostsdir.
        log: The file that it names as log-facility.
    """

    def __init__(self, *, hosts: Path, log: Path) -> None:
        self._hosts = hosts
        self._log = log

    async def offer(self, mac: MacAddress, server: ServerName) -> None:
        """Answer this MAC from now on."""
        await asyncio.to_thread(self._replace, mac, dnsmasq.offer_line(mac, server))

    async def withdraw(self, mac: MacAddress) -> None:
        """Never answer it again; the file stays, since a deleted one is remembered."""
        await asyncio.to_thread(self._replace, mac, dnsmasq.withdraw_line(mac))

    async def lines(self, mac: MacAddress, since: WallSeconds) -> tuple[str, ...]:
        """The MAC's exchanges and the files sent to it, from the newest part of the log."""
        return await asyncio.to_thread(self._read, mac, since)

    def _replace(self, mac: MacAddress, line: str) -> None:
        """Write aside first: every name but hidden ones is read, half-written files included."""
        name = dnsmasq.host_file(mac)
        hidden = self._hosts / f".{name}"
        hidden.write_text(line)
        hidden.chmod(0o644)
        hidden.replace(self._hosts / name)

    def _read(self, mac: MacAddress, since: WallSeconds) -> tuple[str, ...]:
        try:
            with self._log.open("rb") as log:
                size = log.seek(0, os.SEEK_END)
                log.seek(max(0, size - _NEWEST_BYTES))
                text = log.read().decode("utf-8", "replace")
        except FileNotFoundError:  # nothing was ever logged
            return ()
        return dnsmasq.lines_of(text, mac, since)
