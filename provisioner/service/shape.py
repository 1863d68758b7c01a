"""Our values as JSON, and the JSON Schema that says how they look."""

import dataclasses
import enum
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from provisioner.secret import Secret


def plain(value: object) -> Any:  # noqa: ANN401 as wide as JSON is
    """A value as a tree of JSON values; field names are keys, a set becomes a sorted list.

    Raises:
        TypeError: A secret, or something that has no form in JSON.
    """
    if isinstance(value, Secret):
        raise TypeError("a secret has no form in JSON")
    if dataclasses.is_dataclass(value):
        return {each.name: plain(getattr(value, each.name)) for each in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple | frozenset):
        items = [plain(each) for each in value]
        return sorted(items) if isinstance(value, frozenset) else items
    if isinstance(value, Path | enum.Enum):
        return str(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"{type(value).__name__} has no form in JSON")


_SCALARS: Mapping[Any, dict[str, Any]] = {
    str: {"type": "string"},
    Path: {"type": "string"},
    Secret: {"type": "string", "writeOnly": True},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    bytes: {"type": "string", "format": "binary"},
    Any: {},
    object: {},
}


def schema(kind: Any, parts: dict[str, Any]) -> dict[str, Any]:  # noqa: ANN401 any annotation
    """The JSON Schema of a type as `plain` writes it and `strict.read` reads it.

    Args:
        kind: An annotation of one of our dataclasses.
        parts: Schemas of dataclasses by name; those that were met are added.
    """
    while isinstance(kind, typing.NewType) or typing.get_origin(kind) is typing.Annotated:
        kind = kind.__supertype__ if isinstance(kind, typing.NewType) else typing.get_args(kind)[0]
    if kind in _SCALARS:
        return dict(_SCALARS[kind])
    if dataclasses.is_dataclass(kind):
        return _record(kind, parts)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return {"type": "string", "enum": [each.value for each in kind]}
    return _compound(kind, parts)


def _compound(kind: Any, parts: dict[str, Any]) -> dict[str, Any]:  # noqa: ANN401
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in {tuple, frozenset, list}:
        return {"type": "array", "items": schema(arguments[0], parts)}
    if origin in {dict, Mapping}:
        return {"type": "object", "additionalProperties": schema(arguments[1], parts)}
    if origin in {types.UnionType, typing.Union}:
        inner = [each for each in arguments if each is not types.NoneType]
        choices = [schema(each, parts) for each in inner]
        nullable = [{"type": "null"}] if len(inner) < len(arguments) else []
        return {"anyOf": [*choices, *nullable]}
    raise TypeError(f"{kind} has no JSON Schema")


def _record(kind: Any, parts: dict[str, Any]) -> dict[str, Any]:  # noqa: ANN401
    reference = {"$ref": f"#/components/schemas/{kind.__name__}"}
    if kind.__name__ in parts:
        return reference
    parts[kind.__name__] = {}  # a value may hold its own kind
    hints = typing.get_type_hints(kind, include_extras=True)
    fields = dataclasses.fields(kind)
    parts[kind.__name__] = {
        "type": "object",
        "description": (kind.__doc__ or "").partition("\n")[0],
        "properties": {each.name: schema(hints[each.name], parts) for each in fields},
        "required": [each.name for each in fields if is_required(each)],
    }
    return reference


def is_required(field: Any) -> bool:  # noqa: ANN401 a dataclass's Field is not generic enough
    """Whether a value cannot be made without this field."""
    missing = dataclasses.MISSING
    return field.default is missing and field.default_factory is missing
