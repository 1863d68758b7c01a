"""Names and ids as arguments: what can be none is refused here, before anybody is asked."""

import re
from typing import Any, ClassVar, Final

import click

from provisioner.errors import ErrorCode, InputError

NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
IDENTIFIER: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
MOST_SHOWN: Final = 80


class _Checked(click.ParamType[str]):
    """What matches a pattern, or an error of ours.

    Attributes:
        refusal: The error's text, with places for what was written, quoted, and for the pattern.
    """

    pattern: ClassVar[re.Pattern[str]]
    code: ClassVar[ErrorCode]
    refusal: ClassVar[str]

    def convert(
        self,
        value: Any,  # noqa: ANN401 the library's own signature
        param: click.Parameter | None,  # noqa: ARG002
        ctx: click.Context | None,  # noqa: ARG002
    ) -> str:
        """Raises InputError."""
        if not self.pattern.fullmatch(value):
            raise InputError(self.code, self.refusal.format(shown(value), self.pattern.pattern))
        return str(value)


class Name(_Checked):
    """A server's, pool's or image's."""

    name, pattern = "name", NAME
    code, refusal = ErrorCode.NAME_INVALID, "{} is no name ({})"


class Instance(_Checked):
    """An instance's uuid, in capitals or not."""

    name, pattern = "uuid", re.compile(f"(?i:{IDENTIFIER.pattern})")
    code, refusal = ErrorCode.USAGE, "{} is no instance's uuid"


class Identifier(_Checked):
    """An operation's; what can be none is as one that is not there."""

    name, pattern = "id", IDENTIFIER
    code, refusal = ErrorCode.OPERATION_UNKNOWN, "there is no operation {}"


def shown(text: str) -> str:
    """What somebody wrote, quoted, and cut where it is long."""
    return ascii(text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}...")
