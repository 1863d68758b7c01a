"""Options of `rackwright host add`: how the host is reached, and who it is elsewhere."""

import functools
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from provisioner.cli.options import option
from provisioner.cli.session import FILE

F = TypeVar("F", bound=Callable[..., Any])
_HOP: Final = re.compile(r"(?:([a-z_][a-z0-9_-]*)@)?(\[[0-9A-Fa-f:.]+\]|[^:@\s]+)(?::(\d{1,5}))?")
_ACCESS: Final = (
    option("--address", help="Of the host, for SSH."),
    option("--port", type=click.IntRange(1, 65535), default=22, show_default=True),
    option("--user", default="root", show_default=True, help="Another one needs `sudo -n sh`."),
    option("--key-file", type=FILE, help="Private key on this machine, without a passphrase."),
    option("--agent", is_flag=True, help="Use the keys of the service's SSH agent."),
    option("--fingerprint", metavar="SHA256:…", help="Of its host key; left out it is told."),
    option("--jump", metavar="[USER@]HOST[:PORT]", help="Through this machine, by the same key."),
    option("--jump-fingerprint", metavar="SHA256:…", help="Of that one's host key."),
)


def access_options(function: F) -> F:
    """How a host is reached over SSH."""
    return functools.reduce(lambda wrapped, each: each(wrapped), reversed(_ACCESS), function)


def access_of(given: Mapping[str, Any]) -> dict[str, Any] | None:
    """As the API takes it; None: it is not reached.

    Raises:
        click.UsageError: Options that do not go together.
    """
    if given["address"] is None:
        named = ("key_file", "agent", "fingerprint", "jump", "jump_fingerprint")
        if any(given[each] for each in named):
            raise click.UsageError("give --address with the other options of SSH")
        return None
    if bool(given["key_file"]) == given["agent"]:
        raise click.UsageError("give either --key-file or --agent")
    if bool(given["jump"]) != bool(given["jump_fingerprint"]):
        raise click.UsageError("give --jump and --jump-fingerprint together")
    key_file = given["key_file"]
    return {
        "target": {
            "host": given["address"],
            "port": given["port"],
            "user": given["user"],
            "host_key": given["fingerprint"] or "",
        },
        "key_file": str(Path(key_file).absolute()) if key_file else None,
        "jump": _hop(given["jump"], given["jump_fingerprint"]) if given["jump"] else None,
    }


def _hop(text: str, fingerprint: str) -> dict[str, Any]:
    match = _HOP.fullmatch(text)
    if match is None:
        raise click.UsageError(f"--jump {text}: [USER@]HOST[:PORT] is expected")
    user, host, port = match.groups()
    return {
        "host": host.strip("[]"),
        "port": int(port or 22),
        "user": user or "root",
        "host_key": fingerprint,
    }


def controller_of(text: str | None) -> dict[str, Any] | None:
    """HOST[:PORT]."""
    if text is None:
        return None
    match = _HOP.fullmatch(text)
    if match is None or match[1]:
        raise click.UsageError(f"--controller {text}: HOST[:PORT] is expected")
    return {"host": match[2].strip("[]"), "port": int(match[3] or 443)}


def cloud_of(text: str | None) -> dict[str, Any] | None:
    """SITE/UUID."""
    if text is None:
        return None
    site, slash, uuid = text.partition("/")
    if not slash:
        raise click.UsageError(f"--cloudstack {text}: SITE/UUID is expected")
    return {"site": site, "uuid": uuid.lower()}
