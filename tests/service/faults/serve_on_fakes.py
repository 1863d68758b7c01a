"""`rackwright` over a rack of fakes: the product's whole composition but for what is outside.

Controllers, switch ports and DHCP offers are asked for at a Unix socket (rack.py), whose path
stands in the environment as FAKE_RACK.
"""

import asyncio
import os
import pickle
from dataclasses import replace

from cloudstack_ext.main import callbacks
from provisioner.cli.group import make_cli
from provisioner.errors import ErrorCode, TransientError


class Wire:
    """One connection to the rack; opened by its first call."""

    def __init__(self, path, opening=None):
        self._path, self._opening = path, opening
        self._streams = None

    async def ask(self, what, *arguments):
        try:
            if self._streams is None:
                self._streams = await asyncio.open_unix_connection(self._path)
                if self._opening is not None:
                    self._send("open", self._opening)
            self._send(what, arguments)
            good, found = await self._answer()
        except (OSError, asyncio.IncompleteReadError) as error:
            text = "the fake rack is away"
            raise TransientError(ErrorCode.CONTROLLER_UNREACHABLE, text) from error
        if good:
            return found
        kind, code, brief, detail = found
        raise kind(code, brief, detail)

    async def close(self):
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None

    def _send(self, what, arguments):
        body = pickle.dumps((what, arguments))
        self._streams[1].write(len(body).to_bytes(4, "big") + body)

    async def _answer(self):
        size = int.from_bytes(await self._streams[0].readexactly(4), "big")
        return pickle.loads(await self._streams[0].readexactly(size))


class Controller:
    """ports.Controller with all its faces."""

    def __init__(self, path, address, password, driver, certificate_sha256):
        self._address = address
        named = {"certificate_sha256": certificate_sha256}
        self._wire = Wire(path, (address, password, driver, named))

    async def identity(self):
        return await self._wire.ask("identity")

    async def read_power(self):
        return await self._wire.ask("read_power")

    async def press(self, act):
        await self._wire.ask("press", act)

    async def set_boot_once(self, device, mode):
        await self._wire.ask("set_boot_once", device, mode)

    async def read_boot(self):
        return await self._wire.ask("read_boot")

    async def stay_off(self):
        await self._wire.ask("stay_off")

    async def leave_nonce(self, nonce):
        return await self._wire.ask("leave_nonce", nonce)

    async def remove_nonce(self):
        await self._wire.ask("remove_nonce")

    async def stream(self):
        for part in await self._wire.ask("stream"):
            yield part

    def found_address(self):
        return self._address

    async def close(self):
        await self._wire.close()


class Controllers:
    """ports.Controllers."""

    def __init__(self, path):
        self._path = path

    def open(self, address, password, driver, *, certificate_sha256):
        return Controller(self._path, address, password, driver, certificate_sha256)


class Switch:
    """ports.SwitchPorts and ports.BootOffers: one connection a call."""

    def __init__(self, path):
        self._path = path

    async def _ask(self, *words):
        wire = Wire(self._path)
        try:
            return await wire.ask(*words)
        finally:
            await wire.close()

    async def read(self, port):
        return await self._ask("read", port)

    async def place(self, port, wanted):
        await self._ask("place", port, wanted)

    async def offer(self, mac, server):
        await self._ask("offer", mac, server)

    async def withdraw(self, mac):
        await self._ask("withdraw", mac)

    async def lines(self, mac, since):
        return await self._ask("lines", mac, since)


def outside(_settings):
    from cloudstack_ext.main_outside import Outside

    path = os.environ["FAKE_RACK"]
    switch = Switch(path)
    return Outside(controllers=Controllers(path), ports=switch, offers=switch)


def serve(settings):
    from cloudstack_ext.main_serve import run

    run(settings, outside)


if __name__ == "__main__":
    made = callbacks()
    make_cli(replace(made, service=replace(made.service, serve=serve))).main()
