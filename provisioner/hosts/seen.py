"""What a rule saw: a code, what it is about, and which text said what. Pure."""

from dataclasses import dataclass
from typing import Final

from provisioner.hardware.pci import PciDevice
from provisioner.hardware.unknown import Unknown
from provisioner.hosts.finding_catalogue import Code

HOST: Final = "host"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One text and what it says.

    Attributes:
        text: A file on the host, or a command.
    """

    text: str
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A finding before it is explained."""

    code: Code
    subject: str
    evidence: tuple[Evidence, ...]


def seen(code: Code, subject: str, *evidence: tuple[str, object]) -> Seen:
    """With each text and what it says."""
    said = tuple(Evidence(text=text, says=str(says)) for text, says in evidence)
    return Seen(code=code, subject=subject, evidence=said)


def of_device(address: str, name: str) -> str:
    """A file of a PCI function, as the host names it."""
    return f"/sys/bus/pci/devices/{address}/{name}"


def shown(device: PciDevice) -> str:
    """A function in a few words: address, name or ids, driver."""
    name = device.ids() if isinstance(device.name, Unknown) else device.name
    driver = device.driver
    has = "" if isinstance(driver, Unknown) else f", driver {driver or 'none'}"
    return f"{device.address} {name}{has}"
