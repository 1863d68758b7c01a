"""One table of moves: from a state, by an intent, through a running state, to an end.

Pure. docs/states.md is generated from here. Every pair of state and intent is a move, a
no-op or a conflict; a test walks the whole product.

A failed running state never leads back to AVAILABLE once power was touched: see
`Ending`. An operation ends exactly once, with exactly one ending.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from provisioner.errors import ConflictError, ErrorCode
from provisioner.servers.model import State


class Intent(StrEnum):
    """What somebody wants of a server; the value is also the kind of the operation."""

    VERIFY = "verify"
    ADOPT = "adopt"
    INSPECT = "inspect"
    REBASELINE = "rebaseline"
    CLEAN = "clean"
    RESERVE = "reserve"
    UNRESERVE = "unreserve"
    DEPLOY = "deploy"
    REINSTALL = "reinstall"
    RESEED = "reseed"
    RESCUE = "rescue"
    POWER = "power"
    RELEASE = "release"
    QUARANTINE = "quarantine"
    RETIRE = "retire"


class Ending(StrEnum):
    """How an operation ended, by whose fault: it decides where the server goes."""

    DONE = "done"
    INPUT = "input"
    """The request was wrong and was found so before power was touched."""
    OURS = "ours"
    """Our side: a blob, the database, a deadline of a step that waits for us."""
    MACHINE = "machine"
    """The machine, its identity, a disk; or nobody can tell."""
    PERSON = "person"
    """Nothing failed; a person must say what happens next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One row: where the server is while it runs, and where each ending leads."""

    during: State
    ends: Mapping[Ending, State]


S, E = State, Ending


def _move(during: State, done: State, *, otherwise: State, **named: State) -> Move:
    ends = dict.fromkeys(Ending, otherwise) | {E.DONE: done}
    ends |= {Ending(name): state for name, state in named.items()}
    return Move(during=during, ends=MappingProxyType(ends))


def _at_once(state: State) -> Move:
    """A move without an operation: one transaction, no hardware."""
    return _move(state, state, otherwise=state)


_INSPECT = _move(S.INSPECTING, S.CLEANING, otherwise=S.QUARANTINED)
_CLEAN = _move(S.CLEANING, S.AVAILABLE, otherwise=S.QUARANTINED)
_DEPLOY = _move(S.DEPLOYING, S.ACTIVE, otherwise=S.QUARANTINED, input=S.AVAILABLE, ours=S.RELEASING)
_RELEASE = _move(S.RELEASING, S.AVAILABLE, otherwise=S.QUARANTINED)
_QUARANTINE = _at_once(S.QUARANTINED)
_ON_ITS_MACHINE = _at_once(S.ACTIVE)
"""However it ends, the tenant has the machine: its allocation goes on."""

MOVES: Mapping[tuple[State, Intent], Move] = MappingProxyType(
    {
        (S.ENROLLED, Intent.VERIFY): _move(S.VERIFYING, S.INSPECTING, otherwise=S.ENROLLED),
        (S.ENROLLED, Intent.ADOPT): _at_once(S.ACTIVE),
        (S.ENROLLED, Intent.INSPECT): _INSPECT,
        (S.VERIFYING, Intent.INSPECT): _INSPECT,
        (S.INSPECTING, Intent.CLEAN): _CLEAN,
        (S.QUARANTINED, Intent.INSPECT): _INSPECT,
        (S.QUARANTINED, Intent.REBASELINE): _INSPECT,
        (S.QUARANTINED, Intent.CLEAN): _CLEAN,
        (S.AVAILABLE, Intent.INSPECT): _INSPECT,
        (S.AVAILABLE, Intent.CLEAN): _CLEAN,
        (S.AVAILABLE, Intent.RESERVE): _at_once(S.RESERVED),
        (S.AVAILABLE, Intent.DEPLOY): _DEPLOY,
        (S.RESERVED, Intent.UNRESERVE): _at_once(S.AVAILABLE),
        (S.RESERVED, Intent.DEPLOY): _DEPLOY,
        (S.RESERVED, Intent.RELEASE): _RELEASE,
        (S.DEPLOYING, Intent.RELEASE): _RELEASE,
        (S.ACTIVE, Intent.POWER): _ON_ITS_MACHINE,
        (S.ACTIVE, Intent.REINSTALL): _ON_ITS_MACHINE,
        (S.ACTIVE, Intent.RESEED): _ON_ITS_MACHINE,
        (S.ACTIVE, Intent.RESCUE): _move(S.ACTIVE, S.RESCUE, otherwise=S.ACTIVE),
        (S.ACTIVE, Intent.RELEASE): _RELEASE,
        (S.RESCUE, Intent.POWER): _ON_ITS_MACHINE,
        (S.RESCUE, Intent.RELEASE): _RELEASE,
        **{
            (state, Intent.QUARANTINE): _QUARANTINE
            for state in State
            if state not in {S.QUARANTINED, S.RETIRED}
        },
        (S.ENROLLED, Intent.RETIRE): _at_once(S.RETIRED),
        (S.AVAILABLE, Intent.RETIRE): _at_once(S.RETIRED),
        (S.QUARANTINED, Intent.RETIRE): _at_once(S.RETIRED),
    }
)

SATISFIED: Mapping[Intent, frozenset[State]] = MappingProxyType(
    {
        Intent.VERIFY: frozenset({S.VERIFYING}),
        Intent.ADOPT: frozenset(),
        Intent.INSPECT: frozenset({S.INSPECTING}),
        Intent.REBASELINE: frozenset(),
        Intent.CLEAN: frozenset({S.CLEANING}),
        Intent.RESERVE: frozenset({S.RESERVED}),
        Intent.UNRESERVE: frozenset({S.AVAILABLE}),
        Intent.DEPLOY: frozenset({S.DEPLOYING, S.ACTIVE}),
        Intent.REINSTALL: frozenset(),
        Intent.RESEED: frozenset(),
        Intent.RESCUE: frozenset({S.RESCUE}),
        Intent.POWER: frozenset(),
        Intent.RELEASE: frozenset({S.RELEASING, S.CLEANING, S.AVAILABLE}),
        Intent.QUARANTINE: frozenset({S.QUARANTINED}),
        Intent.RETIRE: frozenset({S.RETIRED}),
    }
)
"""Where an intent asks for nothing more: the answer is a no-op, not an error."""

_WIPED_BY = (Intent.INSPECT, Intent.REBASELINE, Intent.CLEAN, Intent.RELEASE)
CHANGES = (Intent.REINSTALL, Intent.RESEED, Intent.RESCUE)
"""What boots our agent on a machine that a tenant has; a failure never ends the tenancy."""

FOLLOWS: Mapping[tuple[Intent, Ending], Intent] = MappingProxyType(
    {
        (Intent.VERIFY, E.DONE): Intent.INSPECT,
        (Intent.INSPECT, E.DONE): Intent.CLEAN,
        (Intent.REBASELINE, E.DONE): Intent.CLEAN,
        (Intent.DEPLOY, E.OURS): Intent.RELEASE,
        **{
            (intent, ending): Intent.QUARANTINE
            for intent in (*_WIPED_BY, Intent.DEPLOY)
            for ending in (E.MACHINE, E.PERSON)
        },
        **{
            (intent, ending): Intent.QUARANTINE
            for intent in _WIPED_BY
            for ending in (E.OURS, E.INPUT)
        },
        # off and cut off, and the tenant keeps it: a list of the power verbs' kind
        **{
            (intent, ending): Intent.POWER
            for intent in CHANGES
            for ending in (E.OURS, E.MACHINE, E.PERSON)
        },
    }
)
"""The operation opened in the transaction that ends another; most quarantines begin here."""


def next_move(state: State, intent: Intent) -> Move | None:
    """Decide what an intent means for a server in this state.

    Returns:
        The move, or None where the server already is as wanted.

    Raises:
        ConflictError: No move leads there from here.
    """
    if state in SATISFIED[intent]:
        return None
    move = MOVES.get((state, intent))
    if move is None:
        raise ConflictError(ErrorCode.STATE_CONFLICT, f"cannot {intent} a server that is {state}")
    return move
