"""The agent of a rehearsal: finds the baseline, and erases so that nothing speaks against it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from provisioner.hardware.inventory import (
    Card,
    Cpu,
    Disk,
    Firmware,
    Inventory,
    PciFunction,
    System,
    Transport,
)
from provisioner.servers.model import (
    ExpectedHardware,
    ServerRecord,
)
from provisioner.servers.operation import AgentOrder
from provisioner.wipe.capabilities import Capabilities
from provisioner.wipe.device_log import DeviceLog
from provisioner.wipe.orders import (
    ErasedDisk,
    EraseOrder,
    Erasures,
    MarkOrder,
    MethodRun,
    RunStatus,
    SurveyedDisk,
    Surveys,
    Verifications,
    VerifiedDisk,
    VerifyOrder,
)
from provisioner.wipe.samples import block_count, edges


@dataclass(slots=True)
class IdealAgent:
    """Finds the baseline, and erases so that nothing speaks against it.

    Attributes:
        ends: Called when it is told to switch its machine off.
    """

    server: ServerRecord
    ends: Callable[[], None] = lambda: None

    def facts(self) -> Inventory:
        """The baseline; before there is one, the least that fits the enrolment."""
        if self.server.baseline is not None:
            return self.server.baseline
        return _fitting(self.server)

    def result(self, order: AgentOrder, nonce: str) -> dict[str, Any]:
        """What a good agent answers to this order."""
        match order.kind:
            case "hello" | "inspect":
                agent = {"version": "rehearsal", "boot_id": ""}
                return {"facts": self.facts().to_json(), "agent": agent}
            case "read_nonce":
                return {"nonce": nonce}
            case "power_off":
                self.ends()
                return {}
            case "rescue":
                return {"host_key": f"SHA256:{'A' * 43}"}
            case "mark":
                return _surveyed(MarkOrder.from_json(order.parameters)).to_json()
            case "erase":
                return _erased(EraseOrder.from_json(order.parameters)).to_json()
            case "verify":
                return _verified(VerifyOrder.from_json(order.parameters)).to_json()
            case _:
                return {}


def _surveyed(order: MarkOrder) -> Surveys:
    return Surveys(
        disks=tuple(
            SurveyedDisk(
                disk=disk,
                path="",
                capabilities=Capabilities(),
                log=DeviceLog(),
                marks=(),
                looked_at=0,
            )
            for disk in order.disks
        )
    )


def _erased(order: EraseOrder) -> Erasures:
    return Erasures(
        disks=tuple(
            ErasedDisk(
                disk=each.disk,
                path="",
                capabilities=Capabilities(),
                runs=tuple(
                    MethodRun(
                        method=method,
                        status=RunStatus.DONE,
                        commands=(),
                        begun_ms=0,
                        ended_ms=0,
                        canaries_written=order.canaries,
                        canaries_kept=order.canaries,
                        canaries_left=0,
                    )
                    for method in each.methods
                ),
                edges_zeroed=True,
                log=DeviceLog(),
            )
            for each in order.disks
        )
    )


def _verified(order: VerifyOrder) -> Verifications:
    return Verifications(
        disks=tuple(
            VerifiedDisk(
                disk=each.disk,
                path="",
                blocks=block_count(each.disk.bytes),
                samples=min(order.samples, block_count(each.disk.bytes)),
                unwiped=0,
                zeros=0,
                edges_bytes=sum(end - start for start, end in edges(each.disk.bytes)),
                edges_unwiped=0,
                marks_checked=len(each.marks),
                marks_left=0,
                canaries_checked=order.canaries * each.turns,
                canaries_left=0,
                read_errors=0,
                first_unwiped=None,
                ms=0,
                log=DeviceLog(),
            )
            for each in order.disks
        )
    )


def _fitting(server: ServerRecord) -> Inventory:
    """What the manifest expects, and nothing more."""
    expected = server.expected or ExpectedHardware()
    return Inventory(
        system=System(
            uuid=server.identity.system_uuid if server.identity else None,
            serial=expected.serial,
            manufacturer=None,
            product=None,
        ),
        firmware=Firmware(mode=server.firmware.value),
        cpu=Cpu(vendor=None, model=None, sockets=1, threads=expected.cpu_threads or 1),
        memory_bytes=expected.memory_bytes or 0,
        disks=tuple(_blank_disk(number) for number in range(expected.disks or 0)),
        nics=tuple(Card(name="", mac=nic.mac, driver=None, link=True) for nic in server.nics),
        pci=tuple(_gpu(number) for number in range(expected.gpus or 0)),
    )


def _blank_disk(number: int) -> Disk:
    return Disk(
        name=f"disk{number}",
        path="",
        serial=f"disk{number}",
        wwn=None,
        model=None,
        firmware=None,
        bytes=0,
        logical_sector_bytes=512,
        physical_sector_bytes=512,
        rotational=False,
        removable=False,
        read_only=False,
        transport=Transport.UNKNOWN,
        has_partition_table=False,
    )


def _gpu(number: int) -> PciFunction:
    return PciFunction(address=f"gpu{number}", pci_class="030200", vendor="", device="")
