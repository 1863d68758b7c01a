"""What a payload carries for the inside of a tenant's system: host name, keys, user data. Pure.

`vmData` is complete in networks with ConfigDrive only; a key pair is always in the details.
"""

import base64
import binascii
import re
from dataclasses import dataclass

from cloudstack_ext.fields import Field
from provisioner.errors import ErrorCode, InputError
from provisioner.secret import Secret

USER_DATA_MOST = 1_048_576
"""Characters of base64; the largest value of CloudStack's vm.userdata.max.length."""
KEYS_MOST = 65_536
HOSTNAME_MOST = 253
LABEL_MOST = 63
HOSTNAME = re.compile(r"(?!-)[A-Za-z0-9-]{1,63}(?<!-)(?:\.(?!-)[A-Za-z0-9-]{1,63}(?<!-))*")
KEY = re.compile(r"[a-z0-9@.-]+ [A-Za-z0-9+/]+=* ?.*")


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantData:
    """As the payload says it, checked for form.

    Attributes:
        user_data: Decoded; None where the payload has none.
        password: As CloudStack made it for a template with passwords.
    """

    hostname: str
    ssh_keys: tuple[str, ...]
    user_data: bytes | None
    password: Secret | None


def read_keys(details: Field) -> tuple[str, ...]:
    """Those of the details alone: all that the payload of an action has.

    Raises:
        InputError: PAYLOAD_FIELD.
    """
    return tuple(dict.fromkeys(_keys(details["details"]["SSH.PublicKey"])))


def read_tenant_data(details: Field, instance_name: str) -> TenantData:
    """Read `cloudstack.vm.details`.

    Raises:
        InputError: PAYLOAD_FIELD, USER_DATA_TOO_LARGE, USER_DATA_UNREADABLE.
    """
    data = _vm_data(details["vmData"])
    absent = Field(None)
    password = data.get(("password", "vm_password"), absent).text(most=1024)
    keys = (
        *_keys(data.get(("metadata", "public-keys"), absent)),
        *_keys(details["details"]["SSH.PublicKey"]),
    )
    return TenantData(
        hostname=_hostname(data.get(("metadata", "local-hostname"), absent), instance_name),
        ssh_keys=tuple(dict.fromkeys(keys)),
        user_data=_user_data(data.get(("userdata", "user_data"), absent)),
        password=Secret(password) if password else None,
    )


def _vm_data(field: Field) -> dict[tuple[str, str], Field]:
    """The third part of each entry by its first two; entries of another form are not ours."""
    found = {}
    for entry in field.items():
        match entry.value:
            case [str(folder), str(name), content]:
                found[folder, name] = Field(content, f"{entry.path}({name})")
            case _:
                continue
    return found


def _hostname(field: Field, instance_name: str) -> str:
    """The name in the payload, else the instance's in the form of RFC 1123."""
    named = field.text(most=HOSTNAME_MOST)
    if named:
        if not HOSTNAME.fullmatch(named):
            field.refuse("a host name")
        return named
    made = re.sub(r"[^a-z0-9-]+", "-", instance_name.lower())[:LABEL_MOST].strip("-")
    return made or "instance"


def _keys(field: Field) -> tuple[str, ...]:
    """One public key a line; CloudStack ends a key with a blank and a line end."""
    lines = (field.lines(most=KEYS_MOST) or "").split("\n")
    keys = tuple(line.strip() for line in lines if line.strip())
    if not all(key.isprintable() and KEY.fullmatch(key) for key in keys):
        field.refuse("public keys, one a line")
    return keys


def _user_data(field: Field) -> bytes | None:
    if isinstance(field.value, str) and len(field.value) > USER_DATA_MOST:
        text = f"user data: at most {USER_DATA_MOST} characters of base64"
        raise InputError(ErrorCode.USER_DATA_TOO_LARGE, text)
    coded = field.lines(most=USER_DATA_MOST)
    if not coded:
        return None
    try:
        return base64.b64decode("".join(coded.split()), validate=True)
    except (binascii.Error, ValueError) as error:
        text = "user data: not decodable as base64"
        raise InputError(ErrorCode.USER_DATA_UNREADABLE, text) from error
