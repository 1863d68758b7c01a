"""A payload as it stands in its file. Pure."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from cloudstack_ext.contract import DETAILS

GSON_ESCAPES = str.maketrans({char: f"\\u{ord(char):04x}" for char in "=<>&'\u2028\u2029"})
"""Gson writes these as escapes; in JSON they stand inside texts only."""


def wire(body: Mapping[str, Any]) -> bytes:
    """As the management server writes a payload: compact, in one line, without its end."""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return text.translate(GSON_ESCAPES).encode("utf-8")


def change_nics(payload: bytes, change: Callable[[dict[str, Any]], None]) -> bytes:
    """The payload with each of its NICs changed."""
    body = json.loads(payload)
    for nic in body.get(DETAILS, {}).get("nics", []):
        change(nic)
    return wire(body)
