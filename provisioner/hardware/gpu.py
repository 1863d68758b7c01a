"""GPUs and other accelerators among a host's PCI functions. Standard library only."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from provisioner.hardware.gpu_models import Kind, Model, models
from provisioner.hardware.pci import PciDevice
from provisioner.hardware.unknown import NOT_SAID, Unknown


class GpuVendor(StrEnum):
    """Makers whose GPUs are told from other displays."""

    NVIDIA = "NVIDIA"
    AMD = "AMD"
    INTEL = "Intel"


VENDORS: Final = {"10de": GpuVendor.NVIDIA, "1002": GpuVendor.AMD, "8086": GpuVendor.INTEL}
DISPLAYS: Final = frozenset({"0300", "0302", "0380"})
"""VGA, 3D and other display controllers."""
ACCELERATOR: Final = "1200"
NVIDIA_BRIDGE: Final = "0680"
OTHER_ACCELERATORS: Final = frozenset({"0b40", ACCELERATOR})
"""Co-processors and processing accelerators."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mig:
    """Multi-instance GPU.

    Attributes:
        pending: After the next reset.
        instances: Names of the profiles of those that are there.
    """

    enabled: bool
    pending: bool
    instances: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFacts:
    """What a vendor's driver or tool says of one GPU; nothing without a driver on the host.

    Attributes:
        partition: AMD's compute and memory partition: SPX/NPS1.
        recovery: What the driver advises: Reset, Reboot, Drain; None: nothing.
        nvlinks: Active ones.
    """

    name: str | Unknown = NOT_SAID
    memory_mib: int | Unknown = NOT_SAID
    vbios: str | Unknown = NOT_SAID
    serial: str | Unknown = NOT_SAID
    uuid: str | Unknown = NOT_SAID
    mig: Mig | Unknown | None = NOT_SAID
    partition: str | Unknown | None = NOT_SAID
    recovery: str | Unknown | None = NOT_SAID
    nvlinks: int | Unknown = NOT_SAID
    driver_version: str | Unknown = NOT_SAID


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One GPU: a physical function.

    Attributes:
        model: By our table, else as the host names it.
        products: Those that share this id; () where it is one.
        memory_mib: As its driver says, else as it is sold.
        memory_is_measured: A driver said it.
        companions: Addresses of the other functions in its slot: audio, USB.
        virtual_functions: Addresses.
    """

    address: str
    vendor: GpuVendor
    model: str | Unknown
    is_known_model: bool
    products: tuple[str, ...]
    functions_of_board: int
    memory_mib: int | Unknown
    memory_is_measured: bool
    tool: ToolFacts
    companions: tuple[str, ...]
    virtual_functions: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Accelerator:
    """Anything else that computes, or joins GPUs."""

    address: str
    kind: Kind
    name: str | Unknown


def gpu_vendor(device: PciDevice) -> GpuVendor | None:
    """Whose GPU this is; None: it is no GPU, or a virtual function of one."""
    if isinstance(device.vendor, Unknown) or device.is_virtual():
        return None
    known = models().get(device.ids())
    is_display = device.base_class() in DISPLAYS
    is_compute = device.base_class() == ACCELERATOR and known is not None and known.kind is Kind.GPU
    # AMD's accelerators of class 1200 are GPUs, also those that the table does not know yet
    is_amd = device.vendor == "1002" and device.base_class() == ACCELERATOR
    return VENDORS.get(device.vendor) if is_display or is_compute or is_amd else None


def gpu_of(device: PciDevice, devices: Sequence[PciDevice], tool: ToolFacts) -> Gpu | None:
    """The GPU that this function is."""
    vendor = gpu_vendor(device)
    if vendor is None:
        return None
    model = models().get(device.ids())
    slot = device.address.rpartition(".")[0]
    measured = not isinstance(tool.memory_mib, Unknown)
    sold = NOT_SAID if model is None or model.memory_mib is None else model.memory_mib
    return Gpu(
        address=device.address,
        vendor=vendor,
        model=_name(device, model, tool),
        is_known_model=model is not None,
        products=model.products if model else (),
        functions_of_board=model.functions if model else 1,
        memory_mib=tool.memory_mib if measured else sold,
        memory_is_measured=measured,
        tool=tool,
        companions=tuple(
            each.address
            for each in devices
            if each.address.rpartition(".")[0] == slot
            and each.address != device.address
            and not each.is_virtual()
        ),
        virtual_functions=tuple(
            each.address for each in devices if each.physical_function == device.address
        ),
    )


def _name(device: PciDevice, model: Model | None, tool: ToolFacts) -> str | Unknown:
    if model is not None and not model.products:
        return model.model
    if not isinstance(tool.name, Unknown):  # of two products under one id the driver knows which
        return tool.name
    return model.model if model is not None else device.name


def accelerator_of(device: PciDevice) -> Accelerator | None:
    """What else this function is; None: neither accelerator nor switch of GPUs."""
    if gpu_vendor(device) is not None or device.is_virtual():
        return None
    model = models().get(device.ids())
    if device.vendor == "10de" and device.base_class() == NVIDIA_BRIDGE:
        kind = Kind.NVSWITCH
    elif device.base_class() in OTHER_ACCELERATORS or (model and model.kind is Kind.ACCELERATOR):
        kind = Kind.ACCELERATOR
    else:
        return None
    return Accelerator(
        address=device.address, kind=kind, name=model.model if model else device.name
    )
