"""Distribution, tools, services, libvirt's domains and CloudStack's agent. Pure."""

import re
from collections.abc import Iterator, Mapping
from typing import Final
from xml.etree import ElementTree as ET

from provisioner.hardware.pci import address_of
from provisioner.hardware.unknown import MALFORMED, NOT_SAID, Unknown
from provisioner.hosts.facts import CloudAgent, DiscoveryScript, Domain, HostDevice, HostSystem
from provisioner.hosts.texts import Texts

_CLASSES: Final = ("VGA compatible controller", "3D controller", "Display controller",
                   "Processing accelerators")  # fmt: skip
_UEFI: Final = "/etc/cloudstack/agent/uefi.properties"
MOST_DOMAINS: Final = 2000


def read_system_facts(texts: Texts) -> HostSystem:
    """All that the texts say of it."""
    release = texts.file("/etc/os-release")
    values = {} if isinstance(release, Unknown) else _values(release)
    return HostSystem(
        distribution=values.get("PRETTY_NAME") or values.get("NAME") or NOT_SAID,
        identifier=values.get("ID", NOT_SAID),
        tools=_pairs(texts.command("tools", partial=True)),
        services=_services(texts),
        packages=_pairs(texts.command("packages", partial=True)),
    )


def _values(text: str) -> dict[str, str]:
    """KEY=VALUE lines, quoted or not."""
    found = re.findall(r"^([A-Za-z_.]+)=(.*?)\s*$", text, re.MULTILINE)
    return {key: value.strip("\"'") for key, value in found}


def _pairs(text: str | Unknown) -> Mapping[str, str] | Unknown:
    if isinstance(text, Unknown):
        return text
    parts = (line.split(None, 1) for line in text.splitlines())
    return {each[0]: each[1].strip() for each in parts if len(each) > 1}


def _services(texts: Texts) -> Mapping[str, str] | Unknown:
    said = texts.command("services", partial=True)
    if isinstance(said, Unknown):
        return said
    found = {}
    for part in re.split(r"\n\s*\n", said):
        values = _values(part)
        if values.get("LoadState") == "loaded" and "Id" in values:
            found[values["Id"]] = values.get("ActiveState", "unknown")
    return found


# --- libvirt --------------------------------------------------------------------------------
def read_domains(texts: Texts) -> tuple[Domain, ...] | Unknown:
    """All, in the order that virsh has."""
    said = texts.command("virsh-domains")
    if isinstance(said, Unknown):
        return said
    states = _states(texts)
    if "<!" in re.sub(r"<!--.*?-->", "", said, flags=re.DOTALL):
        texts.complain("virsh dumpxml", "XML without a document type expected")
        return MALFORMED
    found = []
    for part in re.findall(r"<domain[ >].*?</domain>", said, re.DOTALL)[:MOST_DOMAINS]:
        try:
            found.append(_domain(ET.fromstring(part), states))  # noqa: S314 no entities: see above
        except ET.ParseError as error:
            texts.complain(f"virsh dumpxml, domain {len(found) + 1}", f"XML expected: {error}")
            return MALFORMED
    return tuple(found)


def _states(texts: Texts) -> Mapping[str, str]:
    """Name -> state of virsh's table, whose columns are two blanks apart."""
    said = texts.command("virsh-list")
    if isinstance(said, Unknown):
        return {}
    rows = (re.split(r"\s{2,}", line.strip()) for line in said.splitlines())
    return {row[1]: row[2] for row in rows if len(row) == 3}  # noqa: PLR2004 id, name, state


def _domain(root: ET.Element, states: Mapping[str, str]) -> Domain:
    name = (root.findtext("name") or "").strip()
    state = states.get(name)
    return Domain(
        name=name,
        uuid=(root.findtext("uuid") or "").strip(),
        running=NOT_SAID if state is None else state != "shut off",
        devices=tuple(_host_devices(root)),
    )


def _host_devices(root: ET.Element) -> Iterator[HostDevice]:
    for each in root.findall("./devices/hostdev"):
        managed = each.get("managed") == "yes"
        at = each.find("./source/address")
        if at is None:
            continue
        if uuid := at.get("uuid"):
            yield HostDevice(address=uuid, managed=managed)
            continue
        parts = [at.get(name, "") for name in ("domain", "bus", "slot", "function")]
        if all(re.fullmatch(r"0x[0-9a-fA-F]{1,8}", part) for part in parts):
            domain, bus, slot, function = (int(part, 16) for part in parts)
            address = address_of(f"{domain:x}:{bus:02x}:{slot:02x}.{function:x}")
            if address is not None:
                yield HostDevice(address=address, managed=managed)


# --- CloudStack -----------------------------------------------------------------------------
def read_agent(texts: Texts, system: HostSystem) -> CloudAgent:
    """What makes guests here."""
    properties = texts.command("agent-properties", partial=True)
    version: str | Unknown | None = NOT_SAID
    if not isinstance(system.packages, Unknown):
        version = system.packages.get("cloudstack-agent")
    active: bool | Unknown = NOT_SAID
    if not isinstance(system.services, Unknown):
        active = system.services.get("cloudstack-agent.service") == "active"
    return CloudAgent(
        version=version,
        active=active,
        properties=NOT_SAID if isinstance(properties, Unknown) else _values(properties),
        script=_script(texts),
        has_uefi_properties=isinstance(texts.file(_UEFI), str),
    )


def _script(texts: Texts) -> DiscoveryScript | Unknown | None:
    found = texts.bundle.commands.get("discovery-script")
    if found is None:
        return NOT_SAID
    head, _, lines = found.output.partition("\n")
    match = re.fullmatch(r"([0-9a-f]{64})  (/\S+)", head.strip())
    if match is None:
        return None if "No such file" in found.errors else NOT_SAID
    classes = tuple(each for each in _CLASSES if each in lines)
    return DiscoveryScript(path=match[2], sha256=match[1], classes=classes)
