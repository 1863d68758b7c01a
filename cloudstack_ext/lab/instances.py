"""The lab's instances: everything about one follows from its name, every time the same."""

import re
import uuid

from cloudstack_ext.lab.payload import LabInstance
from provisioner.errors import ErrorCode, InputError

NAMESPACE = uuid.uuid5(uuid.NAMESPACE_DNS, "instances.lab.rackwright.invalid")
NAME = re.compile(r"[a-z]([a-z0-9-]{0,30}[a-z0-9])?")
FIRST_VLAN, VLANS = 2001, 90
IMAGE = "ubuntu-24.04-cuda"
"""As in the recordings; the lab's pool maps it to the tiny system."""


def instance_of(
    name: str,
    *,
    image: str = IMAGE,
    ssh_key: str | None = None,
    user_data: bytes | None = None,
) -> LabInstance:
    """An instance with a network of its own.

    Args:
        name: Becomes its host name.
        image: Name in the pool's map.
        ssh_key: One line of a public key file.
        user_data: As a tenant writes it.

    Raises:
        InputError: NAME_INVALID.
    """
    if not NAME.fullmatch(name):
        raise InputError(ErrorCode.NAME_INVALID, f"{name!r}: lower-case letters, digits and -")
    identifier = uuid.uuid5(NAMESPACE, name)
    number = identifier.int % VLANS
    return LabInstance(
        uuid=str(identifier),
        name=f"i-7-{1000 + number}-VM",
        nic_uuid=str(uuid.uuid5(identifier, "nic")),
        mac=f"1e:00:a1:00:02:{number:02x}",
        address=f"10.77.{number}.10",
        netmask="255.255.255.0",
        gateway=f"10.77.{number}.1",
        dns=f"10.77.{number}.1",
        vlan=FIRST_VLAN + number,
        image=image,
        hostname=name,
        ssh_key=ssh_key,
        user_data=user_data,
    )
