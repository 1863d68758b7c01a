"""Is this the machine that is remembered? What its controller says, compared. Pure.

Acting on the wrong machine must never happen (invariant 13): whatever is remembered of an
identity must be said again, word for word, but for the byte order of a uuid.
"""

import re

from provisioner.servers.model import ControllerIdentity

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def same_machine(remembered: ControllerIdentity, seen: ControllerIdentity) -> bool:
    """Nothing that is remembered differs from what was seen."""
    return not differences(remembered, seen)


def differences(remembered: ControllerIdentity, seen: ControllerIdentity) -> tuple[str, ...]:
    """What differs, each in one line; () is the same machine.

    Maker and model are words of a firmware, which an update may change; they are not compared.
    """
    found = []
    if remembered.system_uuid is not None and not same_uuid(
        remembered.system_uuid, seen.system_uuid
    ):
        found.append(_line("system uuid", remembered.system_uuid, seen.system_uuid))
    if remembered.serial not in {None, seen.serial}:
        found.append(_line("serial", remembered.serial, seen.serial))
    if remembered.certificate_sha256 not in {None, seen.certificate_sha256}:
        found.append(_line("certificate", remembered.certificate_sha256, seen.certificate_sha256))
    return tuple(found)


def nameless(identity: ControllerIdentity) -> bool:
    """It says nothing by which its machine could be told from another."""
    return identity.system_uuid is None and identity.serial is None


def same_uuid(one: str, other: str | None) -> bool:
    """Equal in either byte order: SMBIOS, Redfish and IPMI may speak of one uuid differently."""
    return other is not None and other.lower() in {one.lower(), swapped(one.lower())}


def one_spelling(uuid: str) -> str:
    """The same text for both byte orders of a uuid, by which a machine is known again (15)."""
    lower = uuid.lower()
    return min(lower, swapped(lower)) if UUID.fullmatch(lower) else lower


def swapped(uuid: str) -> str:
    """The other byte order of a uuid's first three fields.

    Quirk: SMBIOS 2.6 and newer keep them little-endian, IPMI's Get System GUID is read either
    way: OpenIPMI 2.0.33's simulator sends them in the order of the text.
    """
    fields = uuid.split("-")
    return "-".join([bytes.fromhex(f)[::-1].hex() for f in fields[:3]] + fields[3:])


def _line(what: str, remembered: str | None, seen: str | None) -> str:
    return f"{what}: {remembered} is remembered, {seen or 'none'} was seen"
