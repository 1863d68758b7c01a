"""What every command shares: configuration, the door to the service, its common options."""

import functools
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, ParamSpec, Protocol, TypeVar
from urllib.parse import urlencode

import click
from click.core import ParameterSource

from provisioner.cli.callbacks import Callbacks
from provisioner.cli.names import shown
from provisioner.cli.options import option
from provisioner.cli.output import JSON, TABLE
from provisioner.errors import ErrorCode, InputError
from provisioner.named_file import open_named, read_named

if TYPE_CHECKING:
    from provisioner.config import Settings
    from provisioner.secret import Secret

P = ParamSpec("P")
R = TypeVar("R")

DEFAULT_CONFIG: Final = Path("/etc/rackwright/rackwright.toml")


class Door(Protocol):
    """How a command speaks to the service."""

    def ask(self, method: str, target: str, body: object = None) -> Any:  # noqa: ANN401 as wide as JSON is
        """One request and its JSON answer; raises what the service raised."""
        ...

    def fetch(self, target: str) -> bytes:
        """A body that is not JSON."""
        ...

    def events(self, target: str) -> Iterator[Any]:
        """Server-sent events, each parsed."""
        ...


def with_query(path: str, **wanted: str | float | None) -> str:
    """The path with what is asked for; None asks for nothing."""
    query = urlencode({key: value for key, value in wanted.items() if value is not None})
    return f"{path}?{query}" if query else path


def unix_door(path: Path) -> Door:
    """The real one."""
    from provisioner.cli.service_client import ServiceClient

    return ServiceClient(path)


@dataclass(slots=True)
class Session:
    """One call of the command.

    Attributes:
        argv: As it was called, for the record of evidence.
        socket: Of the service; None takes the configuration's.
    """

    callbacks: Callbacks
    connect: Callable[[Path], Door] = unix_door
    config: Path = DEFAULT_CONFIG
    socket: Path | None = None
    argv: list[str] = field(default_factory=list)

    def settings(self) -> "Settings":
        """Raises InputError CONFIG_INVALID, FILE_UNREADABLE."""
        from provisioner.config import load

        text = read_text(self.config)
        return load(text, self.config.absolute().parent, source=str(self.config))

    def service(self) -> Door:
        """The door to the running service; nothing is asked yet."""
        return self.connect(self.socket or self.settings().operators.socket)


def read_text(path: Path) -> str:
    """A file of the caller.

    Raises:
        InputError: FILE_UNREADABLE.
    """
    return _text(path, read_named(path))


def read_secret(path: Path) -> "Secret":
    """The first line of a file that nobody else may read.

    Raises:
        InputError: FILE_UNREADABLE: not there, group or others may read it, or nothing is in it.
    """
    from provisioner.secret import Secret

    with open_named(path) as file:
        if os.fstat(file.fileno()).st_mode & 0o077:
            text = (
                f"{path}: others may read or change it; chmod 600 {path}, and take a new password"
            )
            raise InputError(ErrorCode.FILE_UNREADABLE, text)
        secret = Secret.of_line(_text(path, file.read()))
    if not secret.reveal():
        raise InputError(ErrorCode.FILE_UNREADABLE, f"{path}: its first line is empty")
    return secret


def _text(path: Path, content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(ErrorCode.FILE_UNREADABLE, f"{path}: no text in UTF-8") from error


def write_bytes(path: Path, content: bytes) -> None:
    """A file for the caller.

    Raises:
        InputError: FILE_UNREADABLE.
    """
    try:
        path.write_bytes(content)
    except OSError as error:
        raise InputError(ErrorCode.FILE_UNREADABLE, f"{path}: {error.strerror}") from error


def _named(context: click.Context, parameter: click.Parameter, value: Path | None) -> None:
    """What stands nearest to the end of the line counts; the environment where nothing stands.

    The whole command has read the environment before any command below it asks again.
    """
    session, name = context.find_object(Session), str(parameter.name)
    asks_again = context.parent is not None
    if asks_again and context.get_parameter_source(name) is ParameterSource.ENVIRONMENT:
        return
    if value is not None and session is not None:
        setattr(session, name, value)


class _File(click.Path):
    """Refuses an address, which as a path would lose a slash and be looked for here."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401 the library's own signature
        """Raises click.BadParameter."""
        if "://" in str(value):
            text = f"{shown(str(value))} is no file of this machine: fetch it first"
            raise click.BadParameter(text, ctx, param)
        return super().convert(value, param, ctx)


FILE: Final = _File(path_type=Path)
config_option = option(
    "--config",
    type=FILE,
    envvar="RACKWRIGHT_CONFIG",
    expose_value=False,
    callback=_named,
    help=f"Settings.  [default: {DEFAULT_CONFIG}]",
)
socket_option = option(
    "--socket",
    type=FILE,
    envvar="RACKWRIGHT_SOCKET",
    expose_value=False,
    callback=_named,
    help="The service's socket for operators, where not the one of the settings.",
)
output_option = option(
    "--output",
    type=click.Choice([TABLE, JSON]),
    default=TABLE,
    show_default=True,
    help="For people, or for programs.",
)


def asks(function: Callable[P, R]) -> Callable[P, R]:
    """Options of a command that asks the service: --config, --socket, --output."""
    return functools.reduce(
        lambda wrapped, each: each(wrapped),
        (output_option, socket_option, config_option),
        function,
    )
