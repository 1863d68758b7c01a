"""One call as a handler gets it, and what a handler gives back."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
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
_E = TypeVar("_E", bound=StrEnum)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came of asking the extension.

    Attributes:
        output: What it printed; of a failure what CloudStack makes of it, as
            "Exit code: 1, Output: no such server" or "Timeout".
    """

    success: bool = True
    output: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What the extension is asked to do.

    Attributes:
        action: "deploy" (prepare and create, with all that follows when one fails), "start",
            "stop", "reboot", "delete", or a custom action's name.
        parameters: Of a custom action.
        timeout_s: Of a custom action; None: the settings say.
    """

    action: str
    instance: Instance
    parameters: Mapping[str, str] = field(default_factory=dict)
    timeout_s: int | None = None


class ExtensionPort(Protocol):
    """Whatever plays the extension of an instance's host."""

    def perform(self, ask: Ask) -> Reply:
        """Do it and wait for its end; called without the lock, from a thread of its own."""


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

    def choice(self, name: str, kind: type[_E]) -> _E | None:
        """One of the values that a parameter may have; None where it was not given.

        Raises:
            RefusalError: 431: it is none of them.
        """
        text = self.values.text(name)
        if text is None:
            return None
        known = {each.value.lower(): each for each in kind}
        if text.lower() not in known:
            raise refusals.invalid(f"Invalid value for {name}: {text}")
        return known[text.lower()]

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
        finish: Makes the result, under the lock, from the extension's replies, as many as it was
            asked until one failed; a RefusalError is the job's failure.
        kind, entity: As a job has them.
        answer: What the call itself answers beside `jobid`.
        asks: What the extension is asked, one after the other; (): it is not.
    """

    finish: Callable[[tuple[Reply, ...]], Wire]
    kind: str | None = None
    entity: str | None = None
    stamped: str | None = None
    answer: Wire = field(default_factory=dict)
    asks: tuple[Ask, ...] = ()


Handler = Callable[[Call], Wire | Work]
"""A synchronous command answers what stands inside its wrapper."""
