"""One call as a handler gets it, and what a handler gives back."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from cloudstack_ext.api_server import refusals
from cloudstack_ext.api_server.model.accounts import User
from cloudstack_ext.api_server.model.instances import Instance
from cloudstack_ext.api_server.parameters import Values
from cloudstack_ext.api_server.permissions import is_root
from cloudstack_ext.api_server.settings import ServerSettings
from cloudstack_ext.api_server.state import State
from cloudstack_ext.api_server.wire import Wire

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came of asking the extension; the output is shown where CloudStack shows it."""

    success: bool = True
    output: str = ""


class ExtensionPort(Protocol):
    """Whatever plays the extension of an instance's host."""

    def perform(self, action: str, instance: Instance, parameters: Mapping[str, str]) -> Reply:
        """Do it and wait for its end; called without the lock, from a thread of its own.

        `action` is "deploy" (prepare and create with all retries), "start", "stop", "reboot",
        "delete", or a custom action's name.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call.

    Attributes:
        now: Seconds since 1970, the same for the whole call.
        served: Names of the commands that this server answers.
    """

    state: State
    settings: ServerSettings
    caller: User
    values: Values
    now: float
    served: frozenset[str]

    @property
    def root(self) -> bool:
        """Whether the caller sees what only administrators see."""
        return is_root(self.state, self.caller)

    def found(self, name: str, table: Mapping[str, _T]) -> _T:
        """The object whose id a required parameter is.

        Raises:
            RefusalError: 431: none has it.
        """
        return self.id_in(name, self.values.needed(name), table)

    def found_if_given(self, name: str, table: Mapping[str, _T]) -> _T | None:
        """The same for one that need not be there."""
        text = self.values.text(name)
        return None if text is None else self.id_in(name, text, table)

    def id_in(self, name: str, text: str, table: Mapping[str, _T]) -> _T:
        """The object with this id; `name` is the parameter's, for the refusal."""
        if text not in table:
            raise refusals.unknown_id(self.values.command, name, text)
        return table[text]


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What an asynchronous command will do.

    Attributes:
        finish: Makes the result, under the lock, once the extension (if it is asked) has
            answered; a RefusalError is the job's failure.
        kind, entity: As a job has them.
        answer: What the call itself answers beside `jobid`.
        ask: Action, instance and parameters for the extension; None: it is not asked.
    """

    finish: Callable[[Reply], Wire]
    kind: str | None = None
    entity: str | None = None
    stamped: str | None = None
    answer: Wire = field(default_factory=dict)
    ask: tuple[str, Instance, Mapping[str, str]] | None = None


Handler = Callable[[Call], Wire | Work]
"""A synchronous command answers what stands inside its wrapper."""
