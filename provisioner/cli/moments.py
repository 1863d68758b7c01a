"""The option `--since`: a moment as people and programs write it."""

from datetime import UTC, datetime
from typing import Any, Final

import click

from provisioner.cli.options import option


class Moment(click.ParamType[float]):
    """Seconds since 1970, or a date and time in UTC."""

    name = "when"

    def convert(
        self,
        value: Any,  # noqa: ANN401 the library's own signature
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> float:
        """Raises click.BadParameter."""
        text = str(value)
        try:
            return float(text)
        except ValueError:
            pass
        try:
            read = datetime.fromisoformat(text)
        except ValueError:
            self.fail(f"{text!r}: 2026-11-30, 2026-11-30T12:00 or seconds since 1970", param, ctx)
        return (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()


SINCE: Final = option(
    "--since",
    type=Moment(),
    default=0.0,
    help="Nothing older: 2026-11-30, 2026-11-30T12:00 (UTC), or seconds since 1970.",
)
