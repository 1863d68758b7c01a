# ruff: noqa: S608 statements are built of our own constants
"""Servers and their network cards: their moves, whose they are, and when they count as clean."""

from provisioner.servers.model import State
from provisioner.servers.states import MOVES
from provisioner.store.triggers.words import OPEN, Guards, also, keep, refuse, stay

WITH_OWNER = (
    State.RESERVED,
    State.DEPLOYING,
    State.ACTIVE,
    State.RESCUE,
    State.QUARANTINED,
)
"""Where a server may be while an allocation of it lives."""

_PROVEN = (
    "EXISTS (SELECT 1 FROM evidence e JOIN operation o ON o.id = e.operation"
    " WHERE e.hash = NEW.evidence AND e.server = NEW.name AND e.epoch = OLD.epoch"
    f" AND o.status = '{OPEN}')"
)
_OWNED = "EXISTS (SELECT 1 FROM allocation a WHERE a.server = NEW.name AND a.ended_at IS NULL)"
_SAME_MACHINE = (
    "SELECT 1 FROM server s WHERE s.name IS NOT {but} AND s.state <> 'RETIRED'"
    " AND NEW.state <> 'RETIRED' AND (s.host = NEW.host AND s.port = NEW.port"
    " OR s.system_uuid IN (NEW.system_uuid, NEW.board_uuid)"
    " OR s.board_uuid IN (NEW.system_uuid, NEW.board_uuid))"
)


def allowed_moves() -> frozenset[tuple[State, State]]:
    """Every change of a state that some move of the table makes, and a re-enrolment."""
    pairs = {(start, move.during) for (start, _), move in MOVES.items()}
    pairs |= {(move.during, end) for move in MOVES.values() for end in move.ends.values()}
    return frozenset(pairs | {(State.RETIRED, State.ENROLLED)})


def servers() -> Guards:
    """What a server is: one machine, with moves and an epoch that only rises."""
    yield refuse(
        "server_begins_enrolled",
        "INSERT ON server",
        "NEW.state <> 'ENROLLED' OR EXISTS (SELECT 1 FROM server s WHERE s.name = NEW.name)",
        "server: a new one is ENROLLED",
    )
    # readings, by far the most frequent change, need no look at all the other servers
    named = "UPDATE OF host, port, system_uuid, board_uuid, state"
    for event, but in (("INSERT", "''"), (named, "OLD.name")):
        yield refuse(
            f"server_{event[:6].lower()}_one_machine",
            f"{event} ON server",
            f"EXISTS ({_SAME_MACHINE.format(but=but)})",
            "UNIQUE server: one machine, one server",
        )
    yield stay("server")
    yield keep("server", "name")
    pairs = ", ".join(sorted(f"'{start}>{end}'" for start, end in allowed_moves()))
    yield refuse(
        "server_moves",
        "UPDATE OF state ON server",
        f"NEW.state <> OLD.state AND OLD.state || '>' || NEW.state NOT IN ({pairs})",
        "server: no such move",
    )
    yield refuse(
        "server_epoch_rises",
        "UPDATE OF epoch ON server",
        "NEW.epoch < OLD.epoch",
        "server: an epoch never falls",
    )


def proofs() -> Guards:
    """When it counts as clean: after evidence of its own."""
    yield refuse(
        "server_dirty_until_proven",
        "UPDATE OF dirty ON server",
        f"OLD.dirty AND NOT NEW.dirty AND (NEW.evidence IS OLD.evidence OR NOT {_PROVEN}"
        f" OR {_OWNED})",
        "server: dirty is cleared only with wipe evidence",
    )
    yield refuse(
        "server_rebaselines_until_named",
        "UPDATE OF rebaselines ON server",
        "NEW.rebaselines IS NOT OLD.rebaselines AND json_array_length(NEW.rebaselines)"
        " <= json_array_length(OLD.rebaselines) AND NEW.evidence IS OLD.evidence",
        "server: a new baseline stays on record until evidence has named it",
    )
    yield refuse(
        "server_offered_after_proof",
        "UPDATE OF state ON server",
        "NEW.state = 'AVAILABLE' AND OLD.state IN ('CLEANING', 'RELEASING') AND NOT EXISTS"
        " (SELECT 1 FROM evidence e WHERE e.hash = NEW.evidence AND e.epoch = OLD.epoch"
        " AND e.server = NEW.name)",
        "server: offered only after a proven wipe",
    )
    yield refuse(
        "server_evidence_is_its_own",
        "UPDATE OF evidence ON server",
        # one that clears dirty is compared above
        "NEW.dirty = OLD.dirty AND NEW.evidence IS NOT OLD.evidence"
        " AND NEW.evidence IS NOT NULL AND NOT EXISTS"
        " (SELECT 1 FROM evidence e WHERE e.hash = NEW.evidence AND e.server = NEW.name)",
        "server: this evidence is of another one",
    )


def owners() -> Guards:
    """Where it may be for somebody, and where for nobody."""
    yield refuse(
        "server_owned",
        "UPDATE OF state ON server",
        f"NEW.state <> OLD.state AND NEW.state NOT IN ({_states(WITH_OWNER)}) AND {_OWNED}",
        "server: an allocation of it lives",
    )
    yield refuse(
        "server_adopted_for_somebody",
        "UPDATE OF state ON server",
        f"NEW.state = 'ACTIVE' AND OLD.state = 'ENROLLED' AND NOT {_OWNED}",
        "server: nobody adopts it",
    )
    yield refuse(
        "server_rescued_for_somebody",
        "UPDATE OF state ON server",
        f"NEW.state = 'RESCUE' AND OLD.state <> 'RESCUE' AND NOT {_OWNED}",
        "server: a rescue system of nobody",
    )


def cards() -> Guards:
    """Of nic: one living server a card."""
    yield also(
        "nic_follows_server",
        "UPDATE OF state ON server WHEN NEW.state <> OLD.state",
        "UPDATE nic SET living = NEW.state <> 'RETIRED' WHERE server = NEW.name",
    )
    for event in ("INSERT", "UPDATE"):
        yield refuse(
            f"nic_{event.lower()}_living",
            f"{event} ON nic",
            "NEW.living <> (SELECT s.state <> 'RETIRED' FROM server s WHERE s.name = NEW.server)"
            " OR NEW.living AND EXISTS (SELECT 1 FROM nic n WHERE n.mac = NEW.mac AND n.living"
            " AND NOT (n.server = NEW.server AND n.position = NEW.position))",
            "UNIQUE nic.mac: one card, one server",
        )


def _states(states: tuple[State, ...]) -> str:
    return ", ".join(f"'{each.value}'" for each in states)
