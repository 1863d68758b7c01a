"""Options of every command: the word behind one is taken as its value, but never another option."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from provisioner.cli.names import shown

F = TypeVar("F", bound=Callable[..., Any])


class ValueOption(click.Option):
    """Refuses text that begins with a dash.

    `--reason --dry-run` would else be an act with a strange reason, not a rehearsal.
    """

    def type_cast_value(self, ctx: click.Context, value: Any) -> Any:  # noqa: ANN401 the library's own signature
        """Raises click.BadParameter."""
        cast = super().type_cast_value(ctx, value)
        for each in cast if isinstance(cast, tuple) else (cast,):
            if isinstance(each, str | Path) and str(each).startswith("-"):
                text = f"a value is expected, and {shown(str(each))} begins with a dash"
                raise click.BadParameter(text, ctx, self)
        return cast


def option(*names: str, **attributes: Any) -> Callable[[F], F]:  # noqa: ANN401 click's
    """As `click.option`; every option of ours is made with it."""
    return click.option(*names, cls=ValueOption, **attributes)
