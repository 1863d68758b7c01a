"""The same answer as XML: what a call gets that does not ask for `response=json`; pure."""

from collections.abc import Iterator, Mapping
from typing import Any
from xml.sax.saxutils import escape

_HEAD = '<?xml version="1.0" encoding="UTF-8"?>'


def as_xml(body: Mapping[str, Any]) -> bytes:
    """A list is its element again and again; keys that are no names of elements are not made."""
    return (_HEAD + "".join(_elements(body))).encode()


def _elements(body: Mapping[str, Any]) -> Iterator[str]:
    for name, part in body.items():
        for each in part if isinstance(part, list) else [part]:
            yield f"<{escape(name)}>{_content(each)}</{escape(name)}>"


def _content(part: object) -> str:
    if isinstance(part, Mapping):
        return "".join(_elements(part))
    if isinstance(part, bool):
        return str(part).lower()
    return escape(str(part))
