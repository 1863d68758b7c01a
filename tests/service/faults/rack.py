"""The outside of a service on fakes: machines, switch and DHCP, behind one Unix socket.

It lives apart from the service, so that killing the service changes nothing out here. The
shipped fakes do the work; what the service does to them stands in the log.
"""

import asyncio
import contextlib
import pickle
import threading

from provisioner.adapters.clock import SystemClock
from provisioner.errors import RackwrightError
from provisioner.ports.controllers import PowerAct
from provisioner.servers.model import ControllerIdentity, Placement
from provisioner.testing.controller import FakeControllers, FakeMachine
from provisioner.testing.ports import FakeOffers, FakePorts
from tests.service.faults.log import Log
from tests.service.faults.machines import Machine

TEXTS = {
    "identity": lambda: "read identity",
    "read_power": lambda: "read power",
    "read_boot": lambda: "read boot",
    "press": lambda act: f"power {act}",
    "set_boot_once": lambda device, mode: f"boot {device}",
    "stay_off": lambda: "stay off",
    "leave_nonce": lambda nonce: "leave nonce",
    "remove_nonce": lambda: "remove nonce",
    "stream": lambda: "console",
}
SETTLE_S = 0.05


class Rack:
    """Machines by name; `log` tells what was done to them.

    Attributes:
        authority: The file of the site's CA, as the second initrd would carry it.
        boot_url: Where iPXE is sent.
    """

    def __init__(self, socket_path, names, *, authority, boot_url):
        self.path, self.log = socket_path, Log()
        self.authority, self.boot_url = str(authority), boot_url
        clock = SystemClock()
        self.controllers, self.ports, self.offers = (
            FakeControllers(clock),
            FakePorts(),
            FakeOffers(),
        )
        self.machines = {}
        for number, name in enumerate(names, 1):
            machine = Machine(self, name, number)
            pin = None if machine.protocol == "ipmi" else f"{number:064x}"
            identity = ControllerIdentity(system_uuid=machine.uuid, certificate_sha256=pin)
            board = FakeMachine(
                clock=clock,
                password="of-the-board-93fd",
                identity=identity,
                latency_s=0.0,
                power_takes_s=0.1,
                soft_off_takes_s=0.2,
                gives_up_s=0.3,
                on_power=[machine.moved],
            )
            machine.board = self.controllers.add(f"{name}.rack", board)
            self.machines[name] = machine
        self._up = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._live()), daemon=True)
        self._thread.start()
        assert self._up.wait(10)

    def __getitem__(self, name):
        return self.machines[name]

    def answers(self, machine):
        """Whether DHCP of the provisioning network reaches and answers this machine now."""
        place = self.ports._places[machine.port].placement
        return place is Placement.PROVISIONING and machine.mac in self.offers.offered

    def switch_off(self, machine):
        """The machine itself, or a hand; from any thread."""
        self._loop.call_soon_threadsafe(machine.board.press, PowerAct.OFF)

    def stop(self):
        self.log.let_go_of_all()
        for machine in self.machines.values():
            machine._boot += 1
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join(10)

    async def _live(self):
        self._loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
        self._tasks = set()
        server = await asyncio.start_unix_server(self._serve, str(self.path))
        settling = asyncio.ensure_future(self._settle())
        self._up.set()
        await self._ended.wait()
        settling.cancel()
        server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _settle(self):
        """Machines go on whether or not somebody looks at them."""
        while True:
            for machine in self.machines.values():
                machine.board.settled()
            await asyncio.sleep(SETTLE_S)

    async def _serve(self, reader, writer):
        self._tasks.add(asyncio.current_task())
        controller = None
        try:
            while True:
                size = int.from_bytes(await reader.readexactly(4), "big")
                what, arguments = pickle.loads(await reader.readexactly(size))
                if what == "open":
                    controller = self.controllers.open(*arguments[:3], **arguments[3])
                    continue
                answer = pickle.dumps(await self._answer(controller, what, arguments))
                writer.write(len(answer).to_bytes(4, "big") + answer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass  # the service went away, or the rack does
        finally:
            self._tasks.discard(asyncio.current_task())
            writer.close()
            with contextlib.suppress(RackwrightError):
                if controller is not None:
                    await controller.close()

    async def _answer(self, controller, what, arguments):
        try:
            if what in TEXTS:
                return True, await self._controller(controller, what, arguments)
            return True, await getattr(self, f"_{what}")(*arguments)
        except RackwrightError as error:
            return False, (type(error), error.code, error.brief, error.detail)

    async def _controller(self, controller, what, arguments):
        name = controller._address.host.removesuffix(".rack")
        if what == "stream":
            found = [part async for part in controller.stream()]
        else:
            found = await getattr(controller, what)(*arguments)
        await self._said(f"{name} {TEXTS[what](*arguments)}")
        return found

    async def _found_address(self, address):
        return address

    async def _read(self, port):
        return await self.ports.read(port)

    async def _place(self, port, wanted):
        await self.ports.place(port, wanted)
        vlans = "".join(f" {vlan}" for vlan in wanted.vlans)
        await self._said(f"{port.removeprefix('port-')} port to {wanted.placement}{vlans}")

    async def _offer(self, mac, server):
        await self.offers.offer(mac, server)
        await self._said(f"{server} offered")

    async def _withdraw(self, mac):
        await self.offers.withdraw(mac)
        name = next(each.name for each in self.machines.values() if each.mac == mac)
        await self._said(f"{name} withdrawn")

    async def _lines(self, mac, since):
        return await self.offers.lines(mac, since)

    async def _said(self, line):
        """In the log after the act; whoever asked waits for the answer while the line is held."""
        held = self.log.add(line)
        while held is not None and not held.released.is_set():
            await asyncio.sleep(0.02)
