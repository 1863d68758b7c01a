"""Plain values (of TOML, YAML or JSON) as frozen values, strictly.

Pure. Every problem is found in one go and named with its path: unknown keys, missing keys,
wrong types, values out of range. A dataclass says what is allowed by its annotations; checks
stand in them: `port: Annotated[int, between(1, 65535)]`. One that has a method
`contradictions` is asked for what its own values do not agree on.
"""

import dataclasses
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar, cast, runtime_checkable

from provisioner.errors import ErrorCode, InputError
from provisioner.secret import Secret

T = TypeVar("T")
Check = Callable[[Any], str]
"""What is wrong with a value of the right type; "" is nothing."""

MOST_PROBLEMS: Final = 50
"""More are counted, not listed: the error has to stay readable."""


@runtime_checkable
class SelfChecked(Protocol):
    """A value that knows what its own fields must agree on."""

    def contradictions(self) -> Iterable[str]:
        """Problems, each beginning with a key of this value and a colon."""
        ...


def matching(pattern: str, what: str) -> Check:
    """A check: the whole text matches; `what` names what was expected."""
    compiled = re.compile(pattern)
    return lambda value: "" if compiled.fullmatch(value) else f"{what} is expected"


def between(least: float, most: float) -> Check:
    """A check: a number in this range, both ends included."""
    expected = f"{least} to {most}" if least < most else f"{least}"
    return lambda value: "" if least <= value <= most else f"{expected} is expected"


def read(kind: type[T], tree: object, *, code: ErrorCode, source: str, folder: Path = Path()) -> T:
    """The tree as a value of this type.

    Args:
        kind: A frozen dataclass.
        tree: What a parser gave.
        code: Of the error.
        source: What was read, for the error's line ("rackwright.toml").
        folder: Relative paths start here.

    Raises:
        InputError: With all problems in its brief, each with its path.
    """
    reader = _Reader(folder)
    value = reader.read(kind, tree, "")
    if reader.problems:
        raise refused(reader.problems, code=code, source=source)
    return cast("T", value)


def refused(problems: list[str], *, code: ErrorCode, source: str) -> InputError:
    """All problems of one source as one error."""
    shown = problems[:MOST_PROBLEMS]
    if len(problems) > len(shown):
        shown = [*shown, f"and {len(problems) - len(shown)} more"]
    return InputError(code, f"{source}: {'; '.join(shown)}", "\n".join(problems))


class _Bad:
    """Stands for a value that could not be read."""


_BAD: Final = _Bad()


class _Reader:
    def __init__(self, folder: Path) -> None:
        self.problems: list[str] = []
        self._folder = folder

    def _bad(self, path: str, text: str) -> _Bad:
        self.problems.append(f"{path or 'document'}: {text}")
        return _BAD

    def read(self, kind: Any, value: object, path: str) -> Any:  # noqa: ANN401 as wide as the tree
        kind, checks = _plain_kind(kind)
        found = self._read_kind(kind, value, path)
        if isinstance(found, _Bad):
            return found
        wrong = next(filter(None, (check(found) for check in checks)), "")
        return self._bad(path, wrong) if wrong else found

    def _read_kind(self, kind: Any, value: object, path: str) -> Any:  # noqa: ANN401
        origin = typing.get_origin(kind)
        if dataclasses.is_dataclass(kind) and kind is not Secret:
            return self._record(kind, value, path)
        if origin in {tuple, frozenset}:
            return self._items(kind, value, path)
        if origin in {dict, Mapping}:
            return self._mapping(kind, value, path)
        if origin in {types.UnionType, typing.Union}:
            inner = next(each for each in typing.get_args(kind) if each is not type(None))
            return None if value is None else self.read(inner, value, path)
        return self._scalar(kind, value, path)

    def _record(self, kind: Any, value: object, path: str) -> Any:  # noqa: ANN401
        if not isinstance(value, dict):
            return self._bad(path, "a table is expected")
        hints = typing.get_type_hints(kind, include_extras=True)
        fields = {each.name: each for each in dataclasses.fields(kind) if each.init}
        before = len(self.problems)
        for key in value:
            if key not in fields:
                self._bad(_below(path, key), "unknown key")
        known = {}
        for name, field in fields.items():
            if name in value:
                known[name] = self.read(hints[name], value[name], _below(path, name))
            elif _is_required(field):
                self._bad(_below(path, name), "missing")
        if len(self.problems) > before:
            return _BAD
        made = kind(**known)
        return self._agrees(made, path)

    def _agrees(self, made: object, path: str) -> object:
        if not isinstance(made, SelfChecked):
            return made
        wrong = [_below(path, text) for text in made.contradictions()]
        self.problems += wrong
        return _BAD if wrong else made

    def _items(self, kind: Any, value: object, path: str) -> Any:  # noqa: ANN401
        if not isinstance(value, list):
            return self._bad(path, "a list is expected")
        inner = typing.get_args(kind)[0]
        found = [self.read(inner, each, f"{path}[{n}]") for n, each in enumerate(value)]
        if any(isinstance(each, _Bad) for each in found):
            return _BAD
        if typing.get_origin(kind) is frozenset:
            return frozenset(found)
        return tuple(found)

    def _mapping(self, kind: Any, value: object, path: str) -> Any:  # noqa: ANN401
        if not isinstance(value, dict):
            return self._bad(path, "a table is expected")
        of_key, of_value = typing.get_args(kind)
        found = {}
        for key, each in value.items():
            below = _below(path, key)
            found[self.read(of_key, key, below)] = self.read(of_value, each, below)
        if any(isinstance(each, _Bad) for pair in found.items() for each in pair):
            return _BAD
        return found

    def _scalar(self, kind: Any, value: object, path: str) -> Any:  # noqa: ANN401
        if issubclass(kind, StrEnum):
            choices = [each.value for each in kind]
            if value not in choices:
                return self._bad(path, f"one of {', '.join(choices)} is expected")
            return kind(value)
        if kind in {Path, Secret}:
            if not isinstance(value, str) or not value:
                return self._bad(path, "a text is expected")
            return self._folder / value if kind is Path else Secret(value)
        # bool is an int to Python, not to us; a whole number is a number
        if kind is float and type(value) is int:
            return float(value)
        if type(value) is not kind:
            return self._bad(path, f"{NAMES[kind]} is expected")
        return value


NAMES: Final[Mapping[type, str]] = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
}
"""What people call a kind of value."""


def _plain_kind(kind: Any) -> tuple[Any, tuple[Check, ...]]:  # noqa: ANN401
    """Without NewType and Annotated, with the checks of the latter."""
    checks: tuple[Check, ...] = ()
    while True:
        if typing.get_origin(kind) is typing.Annotated:
            kind, *more = typing.get_args(kind)
            checks = (*checks, *more)
        elif isinstance(kind, typing.NewType):
            kind = kind.__supertype__
        else:
            return kind, checks


def _is_required(field: Any) -> bool:  # noqa: ANN401
    missing = dataclasses.MISSING
    return field.default is missing and field.default_factory is missing


def _below(path: str, key: object) -> str:
    return f"{path}.{key}" if path else f"{key}"
