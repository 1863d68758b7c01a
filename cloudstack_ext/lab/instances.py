"""The lab's instances: everything about one follows from its name and its number.

The number follows from the name too, until two names share one: the lab remembers who came
first, and the other takes the next that is free. No two instances of a lab share a network, an
address or a MAC, ever: a name is used up with its first deletion, and so is its number.
"""

import fcntl
import json
import re
import uuid
from dataclasses import dataclass
from pathlib import Path

from cloudstack_ext.lab.payload import LabInstance
from provisioner.errors import ErrorCode, InputError, OperatorError

NAMESPACE = uuid.uuid5(uuid.NAMESPACE_DNS, "instances.lab.rackwright.invalid")
NAME = re.compile(r"[a-z]([a-z0-9-]{0,30}[a-z0-9])?")
FIRST_VLAN, NUMBERS = 2001, 2048
"""A VLAN for each number, the last one 4048; a /24 each from 10.80.0.0 on."""
FIRST_NETWORK = 80
IMAGE = "ubuntu-24.04-cuda"
"""As in the recordings; the lab's pool maps it to the tiny system."""


def instance_of(
    name: str,
    *,
    number: int | None = None,
    image: str = IMAGE,
    ssh_key: str | None = None,
    user_data: bytes | None = None,
) -> LabInstance:
    """An instance with a network of its own.

    Args:
        name: Becomes its host name.
        number: Its network's, below NUMBERS; None takes the one that follows from the name.
        image: Name in the pool's map.
        ssh_key: One line of a public key file.
        user_data: As a tenant writes it.

    Raises:
        InputError: NAME_INVALID.
    """
    identifier = _identifier(name)
    number = _first_choice(name) if number is None else number
    high, low = divmod(number, 256)
    network = f"10.{FIRST_NETWORK + high}.{low}"
    return LabInstance(
        uuid=str(identifier),
        name=f"i-7-{1000 + number}-VM",
        nic_uuid=str(uuid.uuid5(identifier, "nic")),
        mac=f"1e:00:a1:00:{high:02x}:{low:02x}",
        address=f"{network}.10",
        netmask="255.255.255.0",
        gateway=f"{network}.1",
        dns=f"{network}.1",
        vlan=FIRST_VLAN + number,
        image=image,
        hostname=name,
        ssh_key=ssh_key,
        user_data=user_data,
    )


@dataclass(frozen=True, slots=True)
class InstanceNumbers:
    """Which instance of a lab has which number.

    Attributes:
        file: Remembers them; goes away with the lab's folder, as the service's memory does.
    """

    file: Path

    def of(self, name: str) -> int:
        """Its number, the same each time; a new name gets one that no other has.

        Raises:
            InputError: NAME_INVALID.
            OperatorError: LAB: all numbers are used up, or the file cannot be written.
        """
        wanted = _first_choice(name)
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            with self.file.open("a+") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                file.seek(0)
                known = dict(json.loads(line) for line in file)
                if name not in known:
                    known[name] = _next_free(wanted, set(known.values()))
                    file.write(json.dumps([name, known[name]]) + "\n")
        except (OSError, ValueError) as error:
            raise OperatorError(ErrorCode.LAB, f"{self.file}: {error}") from error
        return int(known[name])


def _identifier(name: str) -> uuid.UUID:
    if not NAME.fullmatch(name):
        raise InputError(ErrorCode.NAME_INVALID, f"{name!r}: lower-case letters, digits and -")
    return uuid.uuid5(NAMESPACE, name)


def _first_choice(name: str) -> int:
    return _identifier(name).int % NUMBERS


def _next_free(wanted: int, taken: set[int]) -> int:
    for step in range(NUMBERS):
        number = (wanted + step) % NUMBERS
        if number not in taken:
            return number
    raise OperatorError(ErrorCode.LAB, f"this lab has had its {NUMBERS} instances: begin anew")
