"""Composition of what stands behind the ports of hardware and network."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

from provisioner.adapters.bmc_ipmi import IpmiController
from provisioner.adapters.bmc_ipmitool import IpmitoolConsole, IpmitoolDoor
from provisioner.adapters.bmc_pyghmi import PyghmiDoor, PyghmiWorkers
from provisioner.adapters.bmc_redfish.controller import RedfishController
from provisioner.adapters.controllers import ControllersByDriver
from provisioner.adapters.dnsmasq import DnsmasqOffers
from provisioner.adapters.nonce_media import NonceFolder
from provisioner.adapters.ports_manual import ManualPorts
from provisioner.adapters.ports_rack import RackPorts
from provisioner.adapters.process import LocalProcesses
from provisioner.config import PortAdapter, Settings
from provisioner.ports.controllers import Controllers
from provisioner.ports.network import BootOffers, SwitchPorts
from provisioner.secret import Secret
from provisioner.servers.model import ControllerAddress, ControllerDriver

HARDWARE_THREADS = 128
"""For libraries that block; apart from the pool that carries the database. More than the power
loop asks at once: a call that waits for a thread would look like a controller that is silent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """Controllers, switch ports, and to whom DHCP answers."""

    controllers: Controllers
    ports: SwitchPorts
    offers: BootOffers


MakeOutside = Callable[[Settings], Outside]


def outside_of(settings: Settings) -> Outside:
    """The adapters that the settings ask for."""
    boot = settings.boot
    return Outside(
        controllers=_controllers(settings),
        ports=_ports(settings),
        offers=DnsmasqOffers(hosts=boot.hosts_dir, log=boot.dnsmasq_log),
    )


def _controllers(settings: Settings) -> Controllers:
    processes = LocalProcesses()
    workers, left = PyghmiWorkers(processes), dict[tuple[str, int], int]()
    pool = ThreadPoolExecutor(HARDWARE_THREADS, "hardware")
    rack = settings.provisioning
    media = NonceFolder(rack.blobs_dir / "media", f"{rack.blobs_url}/media")

    def ipmi(
        door: Callable[[ControllerAddress, Secret], PyghmiDoor | IpmitoolDoor],
        address: ControllerAddress,
        password: Secret,
        _certificate: str | None,
    ) -> IpmiController:
        console = IpmitoolConsole(address, password, processes, processes)
        return IpmiController(address, door(address, password), console, left)

    return ControllersByDriver(
        {
            ControllerDriver.SUSHY: partial(RedfishController, pool=pool, media=media),
            ControllerDriver.PYGHMI: partial(ipmi, partial(PyghmiDoor, workers=workers)),
            ControllerDriver.IPMITOOL: partial(ipmi, partial(IpmitoolDoor, processes=processes)),
        }
    )


def _ports(settings: Settings) -> SwitchPorts:
    if settings.ports.adapter is PortAdapter.RACK:
        return RackPorts(LocalProcesses())
    return ManualPorts(settings.ports.isolation)
