"""Values as JSON trees and back, by their own type hints."""

import dataclasses
import types
import typing
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from provisioner.hardware.unknown import Unknown
from provisioner.secret import Secret

T = TypeVar("T")

Tree = Any
"""What json.loads may give."""


def plain(value: object) -> Tree:
    """A value of ours as a JSON tree; sets are sorted, so that equal values look equal.

    Raises:
        TypeError: A secret is inside (invariant 12), or something JSON does not know.
    """
    if isinstance(value, Secret):
        raise TypeError("a secret is never stored in clear")
    if dataclasses.is_dataclass(value):
        return {each.name: plain(getattr(value, each.name)) for each in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, set | frozenset):
        return sorted(plain(each) for each in value)
    return _scalar(value)


def _scalar(value: object) -> Tree:
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, Path):
        return str(value)
    if value is None or isinstance(value, str | int | float | bool):
        return value
    raise TypeError(f"{type(value).__name__} is no JSON value")


def fill(kind: type[T], tree: Tree) -> T:
    """The value that `plain` was given; fields that the tree lacks get their default."""
    return typing.cast("T", _reader(typing.cast("Any", kind))(tree))


Reader = Callable[[Tree], Any]


@cache
def _reader(kind: Any) -> Reader:  # noqa: ANN401 as wide as type hints are
    """How a tree becomes this type; made once a type. None stays None."""
    kind = getattr(kind, "__supertype__", kind)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in {types.UnionType, typing.Union}:
        return _of_union(arguments)
    if origin in {tuple, frozenset, dict}:
        return _of_container(origin, [_reader(each) for each in arguments if each is not ...])
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return _of_record(kind)
    if isinstance(kind, type) and issubclass(kind, StrEnum | Path):
        return lambda tree: None if tree is None else kind(tree)
    return lambda tree: tree


def _of_union(arguments: tuple[Any, ...]) -> Reader:
    """One kind of value; or none, or one that is not known."""
    inner = _reader(next(each for each in arguments if each not in {Unknown, type(None)}))
    if Unknown not in arguments:
        return inner

    def read(tree: Tree) -> object:
        is_unknown = isinstance(tree, dict) and tree.keys() == {"unknown"}
        return Unknown(unknown=tree["unknown"]) if is_unknown else inner(tree)

    return read


def _of_record(kind: type) -> Reader:
    readers = {name: _reader(hint) for name, hint in typing.get_type_hints(kind).items()}

    def read(tree: Tree) -> object:
        if tree is None:
            return None
        return kind(**{name: one(tree[name]) for name, one in readers.items() if name in tree})

    return read


def _of_container(kind: Any, readers: list[Reader]) -> Reader:  # noqa: ANN401 tuple, frozenset, dict
    first, last = readers[0], readers[-1]
    if kind is dict:
        return lambda tree: {key: last(each) for key, each in tree.items()}
    if len(readers) > 1:  # (done, total): each with its own type
        pairs = tuple(readers)
        return lambda tree: tuple(each(item) for each, item in zip(pairs, tree, strict=True))
    return lambda tree: kind(first(each) for each in tree)
