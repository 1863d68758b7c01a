"""Forms that all answers share; pure."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from cloudstack_ext.api_server.parameters import Values

PREFIX = "External:"
"""Of an extension's own details of an offering, a template, a host and an instance."""
PAGE_SIZE = 500
"""`default.page.size`."""

Wire = Mapping[str, Any]


def stamp(seconds: float) -> str:
    """As CloudStack writes a moment; whole seconds."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S+0000")


def given(**values: object) -> dict[str, Any]:
    """Without what is None: CloudStack leaves it out."""
    return {name: value for name, value in values.items() if value is not None}


def listing(name: str, rows: Iterable[Wire], values: Values) -> Wire:
    """A page of a list; without hits neither list nor count."""
    found = list(rows)
    if not found:
        return {}
    page = values.number("page")
    size = values.number("pagesize") or PAGE_SIZE
    first = ((page or 1) - 1) * size
    shown: Sequence[Wire] = found[first : first + size]
    return {"count": len(found), name: list(shown)} if shown else {"count": len(found)}


def external(details: Mapping[str, str]) -> dict[str, str]:
    """With the prefix, once."""
    return {f"{PREFIX}{name.removeprefix(PREFIX)}": text for name, text in details.items()}


def matches(values: Values, texts: Mapping[str, str | None]) -> bool:
    """Whether an object has each of the parameters that was given; names as in the command."""
    return all(
        wanted is None or wanted == text
        for name, text in texts.items()
        for wanted in (values.text(name),)
    )


def has_keyword(values: Values, *texts: str | None) -> bool:
    """`keyword`: a part of one of them, in any case; true where it was not given."""
    keyword = values.text("keyword")
    return not keyword or any(text and keyword.lower() in text.lower() for text in texts)
