"""The JSON Schema that says how our values look as JSON."""

import dataclasses
import enum
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from provisioner.secret import Secret

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
    """The JSON Schema of a type as `store.codec.plain` writes it and `strict.read` reads it.

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
