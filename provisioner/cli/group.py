"""The whole command: `make_cli` puts it together, errors become one line and an exit status."""

import contextlib
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import click
from click.shell_completion import get_completion_class

from provisioner.cli.audit import audit
from provisioner.cli.callbacks import Callbacks
from provisioner.cli.evidence import evidence
from provisioner.cli.hosts import host
from provisioner.cli.images import image
from provisioner.cli.lab import lab
from provisioner.cli.operations import operation
from provisioner.cli.options import option
from provisioner.cli.output import printable
from provisioner.cli.pools import pool
from provisioner.cli.ramdisk import ramdisk
from provisioner.cli.reconcile import reconcile
from provisioner.cli.servers import server
from provisioner.cli.service import config, init, serve
from provisioner.cli.session import Door, Session, config_option, socket_option, unix_door
from provisioner.errors import ErrorCode, InputError, Kind, RackwrightError

PROGRAM: Final = "rackwright"
INTERRUPTED: Final = 130
"""128 and SIGINT, as shells have it."""


class RackwrightGroup(click.Group):
    """Ends with one line on standard error and the exit status of the error's code.

    Attributes:
        begin: Makes the session of a call from its words.
    """

    begin: Callable[[list[str]], Session]

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,  # noqa: FBT001, FBT002 the library's own signature
        **extra: Any,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401
        """Run one call; returns only where `standalone_mode` is false."""
        words = list(sys.argv[1:] if args is None else args)
        given = {"obj": self.begin(words), **extra}
        status, line = self._called(words, prog_name or PROGRAM, complete_var, given)
        if line:
            click.echo(line, err=True)
        if standalone_mode:
            sys.exit(status)
        return status

    def _called(
        self,
        words: list[str],
        prog_name: str,
        complete_var: str | None,
        extra: dict[str, Any],
    ) -> tuple[int, str]:
        usage = Kind.INPUT.exit_code
        try:
            found = super().main(words, prog_name, complete_var, standalone_mode=False, **extra)
        except click.exceptions.NoArgsIsHelpError as error:
            click.echo(error.format_message())
            return usage, ""
        except click.ClickException as error:
            return usage, _line(InputError(ErrorCode.USAGE, error.format_message()))
        except click.Abort:
            return INTERRUPTED, ""
        except RackwrightError as error:
            return error.exit_code, _line(error)
        except BrokenPipeError:  # an OSError, before the others
            with contextlib.suppress(OSError):  # nobody reads: nor what Python flushes at its end
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1, ""
        except OSError as error:
            text = f"{error.filename or 'a file'}: {error.strerror or error}"
            unreadable = InputError(ErrorCode.FILE_UNREADABLE, text)
            return unreadable.exit_code, _line(unreadable)
        return (found if isinstance(found, int) else 0), ""


def make_cli(
    callbacks: Callbacks, *, connect: Callable[[Path], Door] = unix_door
) -> RackwrightGroup:
    """The command.

    Args:
        callbacks: What the composition root gives.
        connect: Opens the door to the service behind a socket's path.
    """

    @click.group(
        cls=RackwrightGroup,
        name=PROGRAM,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    @socket_option
    @config_option
    @option(
        "--version", is_flag=True, is_eager=True, expose_value=False, callback=_show_version,
        help="Show the version and exit.",
    )  # fmt: skip
    def root() -> None:
        """Racks of servers and GPUs as self-service Apache CloudStack capacity."""

    root.begin = lambda words: Session(callbacks=callbacks, connect=connect, argv=words)
    for each in (
        init,
        serve,
        config,
        server,
        host,
        pool,
        image,
        ramdisk,
        operation,
        evidence,
        audit,
        reconcile,
        completion,
    ):
        root.add_command(each)
    if callbacks.lab is not None:
        root.add_command(lab)
    for command in callbacks.more:
        root.add_command(command)
    return root


def _show_version(context: click.Context, _parameter: click.Parameter, value: object) -> None:
    """Of the installed package; a checkout that was not installed has none."""
    if not value or context.resilient_parsing:
        return
    from importlib.metadata import PackageNotFoundError, version

    try:
        known = version(PROGRAM)
    except PackageNotFoundError:
        known = "not installed: a checkout"
    click.echo(f"{PROGRAM}, version {known}")
    context.exit()


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print completion for a SHELL: `eval "$(rackwright completion bash)"`."""
    kind = get_completion_class(shell)
    assert kind is not None
    # `source` would start a shell to ask for its version
    made = kind(click.Command(PROGRAM), {}, PROGRAM, "_RACKWRIGHT_COMPLETE")
    click.echo(made.source_template % made.source_vars())


def _line(error: RackwrightError) -> str:
    return printable(" ".join(str(error).split()))
