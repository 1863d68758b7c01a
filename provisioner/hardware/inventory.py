"""What the agent found in a server: the facts it sends, and the baseline that is kept.

Standard library only: the agent writes these on the server, the service reads them back.
`from_json` trusts nothing: wrong types are refused with the path of the field.
"""

import dataclasses
import types
import typing
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self


class Transport(StrEnum):
    """How a disk is reached; the last seven are never the server's own medium."""

    NVME = "nvme"
    SATA = "sata"
    SAS = "sas"
    SCSI = "scsi"
    VIRTIO = "virtio"
    UNKNOWN = "unknown"
    USB = "usb"
    OPTICAL = "optical"
    ISCSI = "iscsi"
    FC = "fc"
    NVME_OF = "nvme-of"
    RBD = "rbd"
    MULTIPATH = "multipath"


FABRIC = frozenset(
    {Transport.ISCSI, Transport.FC, Transport.NVME_OF, Transport.RBD, Transport.MULTIPATH}
)
"""Disks that other machines may share: seeing one refuses the server (invariant 14)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """SMBIOS type 1, as the kernel shows it. Lower-case uuid; None where firmware gives none."""

    uuid: str | None
    serial: str | None
    manufacturer: str | None
    product: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Firmware:
    """What started the ramdisk; `mode` is "bios" or "uefi"."""

    mode: str
    vendor: str | None = None
    version: str | None = None
    date: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cpu:
    """Processors as the kernel counts them."""

    vendor: str | None
    model: str | None
    sockets: int
    threads: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """One block device with a medium.

    Attributes:
        path: /dev/<name>; valid for this boot only.
        bus_path: /dev/disk/by-path form, stable over boots; None where the bus gives none.
        has_partition_table: A table or a file system signature was found on it.
    """

    name: str
    path: str
    serial: str | None
    wwn: str | None
    model: str | None
    firmware: str | None
    bytes: int
    logical_sector_bytes: int
    physical_sector_bytes: int
    rotational: bool
    removable: bool
    read_only: bool
    transport: Transport
    has_partition_table: bool
    bus_path: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One network interface with a hardware address."""

    name: str
    mac: str
    driver: str | None
    link: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PciFunction:
    """One PCI function; numbers as four or six hex digits without 0x."""

    address: str
    pci_class: str
    vendor: str
    device: str
    subsystem: str | None = None

    def is_gpu(self) -> bool:
        """Display or 3D controllers, and processing accelerators."""
        return self.pci_class[:4] in {"0300", "0302", "1200"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """All of it: what inspection stores and what each boot is compared with."""

    system: System
    firmware: Firmware
    cpu: Cpu
    memory_bytes: int
    disks: tuple[Disk, ...]
    nics: tuple[Card, ...]
    pci: tuple[PciFunction, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """A tree of JSON values; `from_json` gives an equal inventory."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, body: object) -> Self:
        """Read what an agent sent or the store kept.

        Raises:
            ValueError: With the path of the first field that is missing or of a wrong type.
        """
        return typing.cast("Self", read(cls, body, "facts"))


def read(kind: Any, value: object, path: str) -> Any:  # noqa: ANN401 as wide as JSON is
    """A JSON value as a value of this type, strictly; unknown fields are left out.

    Raises:
        ValueError: With the path of what does not fit.
    """
    if dataclasses.is_dataclass(kind):
        return _read_record(kind, value, path)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is tuple:
        if not isinstance(value, list | tuple) or len(value) > MOST_ITEMS:
            raise ValueError(f"{path}: a list of at most {MOST_ITEMS} is expected")
        return tuple(read(arguments[0], each, f"{path}[{n}]") for n, each in enumerate(value))
    if origin is types.UnionType:
        return None if value is None else read(arguments[0], value, path)
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return _read_choice(kind, value, path)
    # bool is an int to Python, not to us
    if type(value) is not kind or (isinstance(value, str) and len(value) > MOST_TEXT):
        raise ValueError(f"{path}: {getattr(kind, '__name__', kind)} is expected")
    if isinstance(value, int) and abs(value) >= MOST_NUMBER:
        raise ValueError(f"{path}: a number below 2**63 is expected")
    return value


MOST_ITEMS = 4096
MOST_TEXT = 1024
MOST_NUMBER = 2**63
"""What databases and other languages can hold."""


def _read_record(kind: Any, value: object, path: str) -> Any:  # noqa: ANN401
    if not isinstance(value, dict):
        raise ValueError(f"{path}: an object is expected")  # noqa: TRY004 one error for all
    hints = typing.get_type_hints(kind)
    known = {}
    for each in dataclasses.fields(kind):
        if each.name in value:
            known[each.name] = read(hints[each.name], value[each.name], f"{path}.{each.name}")
        elif each.default is dataclasses.MISSING and each.default_factory is dataclasses.MISSING:
            raise ValueError(f"{path}.{each.name}: missing")
    return kind(**known)


def _read_choice(kind: type[StrEnum], value: object, path: str) -> StrEnum:
    try:
        return kind(str(value))
    except ValueError:
        choices = ", ".join(each.value for each in kind)
        raise ValueError(f"{path}: one of {choices} is expected") from None
