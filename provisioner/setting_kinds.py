"""Kinds of single settings: what a number may be, or a text. Pure."""

import ipaddress
import re
from typing import Annotated

from provisioner.strict import between, matching

Port = Annotated[int, between(1, 65535)]
Uid = Annotated[int, between(0, 2**32 - 2)]
Name = Annotated[str, matching(r"[a-z0-9][a-z0-9-]{0,62}", "a name ([a-z0-9][a-z0-9-]{0,62})")]
Duration = Annotated[float, between(0, 7 * 86400)]
"""Seconds."""
Days = Annotated[int, between(7, 36500)]
"""A week at least: what is younger is needed to understand what happened."""
Interface = Annotated[str, matching(r"[A-Za-z0-9_.-]{1,15}", "an interface name")]
Namespace = Annotated[
    str, matching(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}", "the name of a network namespace")
]
BlobsUrl = Annotated[str, matching(r"http://[^\s/]+(/\S*)?[^/\s]", "http://… without a last slash")]


def _is_address(text: str) -> str:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return "an IP address is expected"
    return ""


def _is_network(text: str) -> str:
    try:
        ipaddress.ip_network(text)
    except ValueError:
        return "a network is expected (10.66.0.0/24)"
    return ""


_HOST_NAME = re.compile(r"(?=.{1,253}$)[A-Za-z0-9-]{1,63}(\.[A-Za-z0-9-]{1,63})*")


def _is_host(text: str) -> str:
    if _is_address(text) and not _HOST_NAME.fullmatch(text):
        return "a host name or an IP address is expected"
    return ""


Address = Annotated[str, _is_address]
Host = Annotated[str, _is_host]
Network = Annotated[str, _is_network]


def in_url(host: str) -> str:
    """As it stands between scheme and port."""
    return f"[{host}]" if ":" in host else host
