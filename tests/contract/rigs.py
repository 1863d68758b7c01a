"""A controller, what is behind it, and what may be expected of it: one class a kind."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from provisioner.adapters.bmc_ipmi import IpmiController
from provisioner.adapters.bmc_ipmitool import IpmitoolConsole, IpmitoolDoor
from provisioner.adapters.bmc_pyghmi import PyghmiDoor, PyghmiWorkers
from provisioner.adapters.bmc_redfish.controller import RedfishController
from provisioner.adapters.clock import SystemClock
from provisioner.adapters.controllers import ControllersByDriver
from provisioner.adapters.nonce_media import NonceFolder
from provisioner.adapters.process import LocalProcesses
from provisioner.ports.controllers import PowerAct
from provisioner.secret import Secret
from provisioner.servers.controller_media import NamedMedium
from provisioner.servers.model import (
    ControllerAddress,
    ControllerDriver,
    ControllerIdentity,
    ControllerProtocol,
    Power,
)
from provisioner.testing.clock import FakeClock
from provisioner.testing.controller import NO_BOOT, FakeControllers, FakeMachine
from tests.contract.emulators import DRIVE_SERIAL, PASSWORD, USER

UUID = "3f1c9e02-77aa-4b6d-9d5e-1b2a3c4d5e6f"
PIN = "11" * 32


@dataclass(frozen=True, kw_only=True)
class Expectations:
    """What this emulator can and cannot do; the adapter is tested for either.

    Attributes:
        once: What it says of an override that was set for one start.
        once_reverts: After a start the override is gone.
        mode: It reports the firmware mode that was set.
        cycle: It switches off and on by itself.
        restore_policy: It has a setting for the return of mains.
        system_serial: It reports a serial number of the system.
        deaf: It can be told to accept a button and do nothing.
        certificate: It is reached by TLS.
        nonce: Where a nonce can be left.
        console: It offers a serial console.
        media: It names the drives of its machine.
        boot_progress: It has that face; neither emulator's firmware says anything by it.
    """

    once: bool | None
    once_reverts: bool
    mode: bool
    cycle: bool
    restore_policy: bool
    system_serial: bool
    deaf: bool
    certificate: bool
    nonce: str
    console: bool
    media: bool
    boot_progress: bool


FAKE = Expectations(
    once=True,
    once_reverts=True,
    mode=True,
    cycle=True,
    restore_policy=True,
    system_serial=True,
    deaf=True,
    certificate=True,
    nonce="ipmi-sel",
    console=True,
    media=True,
    boot_progress=True,
)
IPMI_SIM = Expectations(  # OpenIPMI 2.0.33
    once=None,  # the flags valid, persistent and EFI do not read back, the device does
    once_reverts=True,
    mode=False,
    cycle=True,
    restore_policy=False,
    system_serial=False,
    deaf=True,
    certificate=False,
    nonce="ipmi-sel",
    console=True,
    media=False,
    boot_progress=False,
)
SUSHY_TOOLS = Expectations(  # sushy-tools 2.2.0
    once=False,  # it is stored as Continuous
    once_reverts=False,
    mode=True,
    cycle=False,  # no reset type PowerCycle
    restore_policy=False,
    system_serial=False,
    deaf=False,
    certificate=True,
    nonce="media",  # its asset tag cannot be written
    console=False,
    media=True,
    boot_progress=True,
)


class Rig:
    """How the suite meets one kind of controller."""

    driver: ControllerDriver
    expected: Expectations

    def __init__(self, clock, address):
        self.clock, self.address = clock, address

    def open(self, *, password=PASSWORD, pin=None, **address):
        to = replace(self.address, **address)
        return self.controllers().open(to, Secret(password), self.driver, certificate_sha256=pin)

    def run(self, scenario):
        async def whole():
            try:
                return await scenario(self)
            finally:
                await self.close()

        return asyncio.run(whole())

    async def ask(self, call, **more):
        """One call of a fresh controller, which is closed after it."""
        controller = self.open(**more)
        try:
            return await call(controller)
        finally:
            await controller.close()

    async def reach(self, wanted, seconds=15.0):
        """What the controller says, once it says so or the time is over."""
        controller = self.open()
        end = self.clock.monotonic() + seconds
        try:
            while True:
                power = await controller.read_power()
                if power is wanted or self.clock.monotonic() > end:
                    return power
                await self.clock.sleep(0.2)
        finally:
            await controller.close()

    async def close(self):
        """What a service would close at its end."""


class FakeRig(Rig):
    driver, expected = ControllerDriver.PYGHMI, FAKE

    def __init__(self):
        address = ControllerAddress(
            protocol=ControllerProtocol.IPMI, host="fake", port=623, user=USER
        )
        super().__init__(FakeClock(), address)
        identity = ControllerIdentity(system_uuid=UUID, serial="S1", certificate_sha256=PIN)
        self.machine = FakeMachine(
            clock=self.clock,
            identity=identity,
            password=PASSWORD,
            console=(b"hello\n",),
            media=(NamedMedium(name="1", serial=DRIVE_SERIAL, bytes=1 << 40),),
        )
        self.world = FakeControllers(self.clock)
        self.world.add("fake", self.machine)
        self.pin, self.dead_port, self.console_port = PIN, 1, 623

    def controllers(self):
        return self.world

    def reset(self):
        self.machine.power, self.machine.boot, self.machine.nonce = Power.OFF, NO_BOOT, None
        self.machine.deaf_to = set()

    def power(self):
        return str(self.machine.settled())

    def boot(self):
        return self.machine.boot.device

    def nonces(self):
        return [self.machine.nonce] if self.machine.nonce else []

    def be_deaf(self, deaf):
        self.machine.deaf_to = set(PowerAct) if deaf else set()

    def be_slow(self, seconds):
        self.machine.latency_s = 0.05 + seconds

    def pause(self):
        self.machine.silent = True

    def go_on(self):
        self.machine.silent = False

    def tries(self):
        return self.machine.password_tries


class EmulatorRig(Rig):
    """An emulator behind a relay."""

    def be_slow(self, seconds):
        self.relay.delay_s = seconds

    def pause(self):
        self.emulator.pause()

    def go_on(self):
        self.emulator.go_on()


class IpmiRig(EmulatorRig):
    expected = IPMI_SIM

    def __init__(self, driver, emulator, relay):
        self.driver, self.emulator, self.relay = driver, emulator, relay
        suite = None if driver is ControllerDriver.PYGHMI else 3
        address = ControllerAddress(
            protocol=ControllerProtocol.IPMI,
            host="127.0.0.1",
            port=relay.port,
            user=USER,
            cipher_suite=suite,
        )
        super().__init__(SystemClock(), address)
        self.processes = LocalProcesses()
        self.workers = PyghmiWorkers(self.processes)
        self.left = {}
        self.pin, self.dead_port = None, relay.port + 1
        self.console_port = emulator.port  # SOL names its port, a relay's is another

    def controllers(self):
        processes = self.processes

        def pyghmi(address, password, _pin):
            console = IpmitoolConsole(address, password, processes, processes)
            return IpmiController(
                address, PyghmiDoor(address, password, self.workers), console, self.left
            )

        def ipmitool(address, password, _pin):
            console = IpmitoolConsole(address, password, processes, processes)
            return IpmiController(
                address, IpmitoolDoor(address, password, processes), console, self.left
            )

        return ControllersByDriver(
            {ControllerDriver.PYGHMI: pyghmi, ControllerDriver.IPMITOOL: ipmitool}
        )

    async def close(self):
        await self.workers.close()

    def reset(self):
        self.emulator.be_deaf(False)
        self.emulator.set_power("off")
        (self.emulator.folder / "boot").write_text("default\n")
        self.relay.delay_s = 0.0

    def power(self):
        return self.emulator.power()

    def boot(self):
        return self.emulator.boot()

    def nonces(self):
        return self.emulator.nonces()

    def be_deaf(self, deaf):
        self.emulator.be_deaf(deaf)

    def tries(self):
        return self.relay.tries


class SushyRig(EmulatorRig):
    driver, expected = ControllerDriver.SUSHY, SUSHY_TOOLS

    def __init__(self, emulator, relay, media, published):
        self.emulator, self.relay = emulator, relay
        self.media, self.published = media, published
        address = ControllerAddress(
            protocol=ControllerProtocol.REDFISH, host="127.0.0.1", port=relay.port, user=USER
        )
        super().__init__(SystemClock(), address)
        self.pool = ThreadPoolExecutor(4)
        self.pin, self.dead_port = emulator.certificate_sha256, relay.port + 1
        self.console_port = relay.port

    def controllers(self):
        media = NonceFolder(self.published, self.media)

        def sushy(address, password, pin):
            return RedfishController(address, password, pin, pool=self.pool, media=media)

        return ControllersByDriver({ControllerDriver.SUSHY: sushy})

    def reset(self):
        self.relay.delay_s = 0.0
        if self.power() != "off":
            action = f"/redfish/v1/Systems/{UUID}/Actions/ComputerSystem.Reset"
            self.emulator.ask("POST", action, {"ResetType": "ForceOff"})
            end = time.monotonic() + 5.0
            while self.power() != "off" and time.monotonic() < end:
                time.sleep(0.1)

    def power(self):
        return self.emulator.system(UUID)["PowerState"].lower()

    def boot(self):
        said = self.emulator.system(UUID)["Boot"]["BootSourceOverrideTarget"]
        return {"Pxe": "network", "Hdd": "disk"}[said]

    def nonces(self):
        """What the machine reads in the first sector of each inserted medium."""
        names = [url.rpartition("/")[2] for url in self.emulator.media(UUID)]
        sectors = [(self.published / name).read_bytes()[:2048] for name in names]
        return [bytes.fromhex(sector.split(b"\n")[1].decode()) for sector in sectors]

    def be_deaf(self, deaf):
        assert not deaf, "sushy-tools does what it accepts"

    def tries(self):
        return self.emulator.refusals()
