"""Values as JSON trees and back, by their own type hints."""

import dataclasses
import types
import typing
from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

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
    return typing.cast("T", _value(kind, tree))


@lru_cache(maxsize=64)
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _value(kind: Any, tree: Tree) -> Any:  # noqa: ANN401 as wide as type hints are
    kind = getattr(kind, "__supertype__", kind)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if tree is None or kind is Any:
        return tree
    if origin in {types.UnionType, typing.Union}:
        return _value(next(each for each in arguments if each is not type(None)), tree)
    if origin in {tuple, frozenset}:
        return _items(origin, arguments, tree)
    if origin is dict:
        return {key: _value(arguments[1], each) for key, each in tree.items()}
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        hints = _hints(kind)
        known = {name: tree[name] for name in hints if name in tree}
        return kind(**{name: _value(hints[name], each) for name, each in known.items()})
    if isinstance(kind, type) and issubclass(kind, StrEnum | Path):
        return kind(tree)
    return tree


def _items(
    kind: type[tuple[Any, ...]] | type[frozenset[Any]], arguments: tuple[Any, ...], tree: Tree
) -> Any:  # noqa: ANN401
    if kind is tuple and arguments[-1] is not Ellipsis:  # (done, total): each with its own type
        return tuple(_value(each, item) for each, item in zip(arguments, tree, strict=True))
    return kind(_value(arguments[0], item) for item in tree)
