"""What the work of this moment is about: fields of every log line that is written meanwhile.

A verb and a step open a scope; whoever learns more below adds it, from any task or thread that
works for the same scope. Lines of libraries get the same fields.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

FIELDS: Final = ("site", "server", "instance", "operation", "epoch", "code")
"""The closed list; what `extra` of a single line says comes before the scope."""

_SCOPE: ContextVar[dict[str, object] | None] = ContextVar("about", default=None)


@contextmanager
def about(**fields: object) -> Iterator[None]:
    """A scope with these fields and those of the scope around it, which stays as it was."""
    before = _SCOPE.set({**known(), **fields})
    try:
        yield
    finally:
        _SCOPE.reset(before)


def learned(**fields: object) -> None:
    """Add to the scope; without one, for the rest of this task and what it begins."""
    scope = _SCOPE.get()
    if scope is None:
        _SCOPE.set(dict(fields))
    else:
        scope.update(fields)


def known() -> Mapping[str, object]:
    """The fields of this moment."""
    return _SCOPE.get() or {}
