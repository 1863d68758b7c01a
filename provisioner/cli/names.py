"""Names and ids as arguments: what can be none is refused here, before anybody is asked."""

import re
from typing import Any, Final

import click

from provisioner.errors import ErrorCode, InputError

NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
IDENTIFIER: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
MOST_SHOWN: Final = 80


class Name(click.ParamType[str]):
    """A server's, pool's or image's."""

    name = "name"

    def convert(
        self,
        value: Any,  # noqa: ANN401 the library's own signature
        param: click.Parameter | None,  # noqa: ARG002
        ctx: click.Context | None,  # noqa: ARG002
    ) -> str:
        """Raises InputError NAME_INVALID."""
        if not NAME.fullmatch(value):
            text = f"{shown(value)} is no name ({NAME.pattern})"
            raise InputError(ErrorCode.NAME_INVALID, text)
        return str(value)


class Identifier(click.ParamType[str]):
    """An operation's."""

    name = "id"

    def convert(
        self,
        value: Any,  # noqa: ANN401 the library's own signature
        param: click.Parameter | None,  # noqa: ARG002
        ctx: click.Context | None,  # noqa: ARG002
    ) -> str:
        """Raises InputError OPERATION_UNKNOWN."""
        if not IDENTIFIER.fullmatch(value):
            raise InputError(ErrorCode.OPERATION_UNKNOWN, f"there is no operation {shown(value)}")
        return str(value)


def shown(text: str) -> str:
    """What somebody wrote, quoted, and cut where it is long."""
    return ascii(text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}...")
