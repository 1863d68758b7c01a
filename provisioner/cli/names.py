"""Names and ids as arguments: what can be none is refused here, before anybody is asked."""

import re
from typing import Any, ClassVar, Final

import click

from provisioner.errors import ErrorCode, InputError

NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
IDENTIFIER: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
MOST_SHOWN: Final = 80


class _Checked(click.ParamType[str]):
    """What matches a pattern, or an error of ours."""

    pattern: ClassVar[re.Pattern[str]]

    def refused(self, text: str) -> InputError:
        """What is wrong with it, already quoted."""
        raise NotImplementedError

    def convert(
        self,
        value: Any,  # noqa: ANN401 the library's own signature
        param: click.Parameter | None,  # noqa: ARG002
        ctx: click.Context | None,  # noqa: ARG002
    ) -> str:
        """Raises the error of `refused`."""
        if not self.pattern.fullmatch(value):
            raise self.refused(shown(value))
        return str(value)


class Name(_Checked):
    """A server's, pool's or image's; else NAME_INVALID."""

    name, pattern = "name", NAME

    def refused(self, text: str) -> InputError:
        """With what a name looks like."""
        return InputError(ErrorCode.NAME_INVALID, f"{text} is no name ({NAME.pattern})")


class Instance(_Checked):
    """An instance's uuid, in capitals or not; else USAGE."""

    name, pattern = "uuid", re.compile(f"(?i:{IDENTIFIER.pattern})")

    def refused(self, text: str) -> InputError:
        """Where CloudStack shows it, it has this form."""
        return InputError(ErrorCode.USAGE, f"{text} is no instance's uuid")


class Identifier(_Checked):
    """An operation's; else OPERATION_UNKNOWN."""

    name, pattern = "id", IDENTIFIER

    def refused(self, text: str) -> InputError:
        """As for one that is not there."""
        return InputError(ErrorCode.OPERATION_UNKNOWN, f"there is no operation {text}")


def shown(text: str) -> str:
    """What somebody wrote, quoted, and cut where it is long."""
    return ascii(text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}...")
