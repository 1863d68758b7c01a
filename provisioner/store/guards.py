# ruff: noqa: S608 statements are built of our own constants
"""Triggers: what must never happen and no CHECK or index can say. SQLite's dialect.

They hold for every writer of the file, whatever connection it uses, `OR REPLACE` included
(which would delete a row without asking its DELETE trigger). They are part of the
program, not of a migration: `stand` makes them anew where they differ, at each start.
"""

import sqlalchemy as sa

from provisioner.servers.model import State
from provisioner.servers.operation import Status
from provisioner.servers.states import MOVES
from provisioner.store.guard_words import Guards, also, append, keep, refuse, stay

OPEN = Status.OPEN.value
WITH_OWNER = (
    State.RESERVED,
    State.DEPLOYING,
    State.ACTIVE,
    State.RESCUE,
    State.QUARANTINED,
)
"""Where a server may be while an allocation of it lives."""
YOUNG_S = 7 * 86400
YOUNG_FROM = (
    "min((SELECT x.at FROM call x ORDER BY x.number DESC LIMIT 1),"
    f" CAST(strftime('%s', 'now') AS INTEGER)) - {YOUNG_S}"
)
"""Calls after this moment stay: of the newest one's last week, and of the clock's, so that a row
from the future makes no other one old."""


def allowed_moves() -> frozenset[tuple[State, State]]:
    """Every change of a state that some move of the table makes, and a re-enrolment."""
    pairs = {(start, move.during) for (start, _), move in MOVES.items()}
    pairs |= {(move.during, end) for move in MOVES.values() for end in move.ends.values()}
    return frozenset(pairs | {(State.RETIRED, State.ENROLLED)})


def stand(connection: sa.Connection) -> None:
    """Make every guard that is missing or differs, drop those that are no longer ours."""
    wanted = guards()
    query = sa.text("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
    found = {row.name: row.sql for row in connection.execute(query)}
    for name, statement in found.items():
        if name.startswith("guard_") and statement != wanted.get(name):
            connection.exec_driver_sql(f"DROP TRIGGER {name}")
    for name, statement in wanted.items():
        if found.get(name) != statement:
            connection.exec_driver_sql(statement)


def guards() -> dict[str, str]:
    """Name -> statement."""
    return {
        f"guard_{name}": f"CREATE TRIGGER guard_{name} {body}"
        for part in (_servers, _allocations, _operations, _turns, _evidence, _once, _generation)
        for name, body in part()
    }


def _states(states: tuple[State, ...]) -> str:
    return ", ".join(f"'{each.value}'" for each in states)


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


def _servers() -> Guards:
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


_LIVES = "NEW.ended_at IS NULL"


def _allocations() -> Guards:
    yield refuse(
        "allocation_begins",
        "INSERT ON allocation",
        "EXISTS (SELECT 1 FROM allocation a WHERE a.id = NEW.id OR a.number = NEW.number"
        " OR a.ended_at IS NULL AND"
        " (a.server = NEW.server OR a.site = NEW.site AND a.instance = NEW.instance))",
        "UNIQUE allocation: one server, one living instance",
    )
    yield refuse(
        "allocation_of_a_kept_server",
        "INSERT ON allocation",
        f"NOT {_LIVES} OR NOT EXISTS (SELECT 1 FROM server s WHERE s.name = NEW.server"
        " AND (s.state IN ('RESERVED', 'DEPLOYING') OR s.state = 'ENROLLED' AND s.found_on"
        " AND s.dirty AND s.identity IS NOT NULL AND NEW.phase = 'active'))",
        "allocation: its server is not kept for it",
    )
    yield refuse(
        "allocation_after_delete",
        "INSERT ON allocation",
        "EXISTS (SELECT 1 FROM tombstone t WHERE t.site = NEW.site AND t.instance = NEW.instance)",
        "allocation: this instance was deleted",
    )
    yield keep("allocation", "number id site instance server created_at")
    yield refuse(
        "allocation_ended_for_ever",
        "UPDATE ON allocation",
        "OLD.ended_at IS NOT NULL AND (NEW.ended_at IS NOT OLD.ended_at"
        " OR NEW.phase <> OLD.phase OR NEW.ever_powered <> OLD.ever_powered)",
        "allocation: ended for ever",
    )
    for event in ("INSERT", "UPDATE"):
        yield refuse(
            f"allocation_{event.lower()}_powered_is_dirty",
            f"{event} ON allocation",
            f"{_LIVES} AND NEW.ever_powered"
            " AND NOT (SELECT s.dirty FROM server s WHERE s.name = NEW.server)",
            "allocation: powered on for a tenant while its server counts as clean",
        )
    yield refuse(
        "allocation_stays_powered",
        "UPDATE OF ever_powered ON allocation",
        "OLD.ever_powered AND NOT NEW.ever_powered",
        "allocation: what was powered on was powered on",
    )
    yield stay("allocation")
    yield append("tombstone", "site instance")
    yield stay("tombstone")
    yield keep("tombstone", "site instance at")


def _operations() -> Guards:
    yield refuse(
        "operation_begins",
        "INSERT ON operation",
        f"NEW.status <> '{OPEN}' OR NEW.epoch <> (SELECT s.epoch FROM server s"
        " WHERE s.name = NEW.server) OR EXISTS (SELECT 1 FROM operation o WHERE o.id = NEW.id"
        f" OR o.number = NEW.number OR o.server = NEW.server AND o.status = '{OPEN}')",
        "UNIQUE operation: one open operation a server, of its epoch",
    )
    yield refuse(
        "operation_rebaseline_says_why",
        "INSERT ON operation",
        "NEW.kind = 'rebaseline' AND coalesce(json_extract(NEW.parameters, '$.reason'), '') = ''",
        "operation: no new baseline without a reason",
    )
    yield keep(
        "operation",
        "number id kind steps_name steps server allocation epoch who parameters opened_at",
    )
    yield refuse(
        "operation_closed_for_ever",
        "UPDATE ON operation",
        f"OLD.status <> '{OPEN}'",
        "operation: closed for ever",
    )
    yield stay("operation")
    for event in ("INSERT", "UPDATE OF beginnings"):
        yield refuse(
            f"effect_{event[:6].lower()}_of_the_owner",
            f"{event} ON effect",
            "NOT EXISTS (SELECT 1 FROM operation o JOIN server s ON s.name = o.server"
            f" WHERE o.id = NEW.operation AND o.status = '{OPEN}' AND o.epoch = s.epoch"
            " AND NEW.epoch = s.epoch)",
            "effect: a newer owner, or the operation is closed",
        )
    yield append("effect", "operation step")
    # the act that cannot be taken back, behind two locks: its step's, and this one
    yield refuse(
        "effect_of_its_turn",
        "INSERT ON effect",
        "NEW.step = 'erase' AND EXISTS (SELECT 1 FROM turn t"
        " WHERE t.operation = NEW.operation AND t.begun_at IS NULL)",
        "effect: its wipe waits for its turn",
    )
    yield refuse(
        "effect_on_a_known_machine",
        "INSERT ON effect",
        "NEW.step = 'erase' AND (SELECT s.baseline FROM operation o JOIN server s"
        " ON s.name = o.server WHERE o.id = NEW.operation) IS NULL",
        "effect: nothing is erased that was never compared with a baseline",
    )
    its = "SELECT 1 FROM operation o JOIN allocation a ON a.id = o.allocation"
    yield refuse(
        "effect_starts_whole_disks",
        "INSERT ON effect",
        f"NEW.step = 'on' AND EXISTS ({its} WHERE o.id = NEW.operation AND a.needs_reinstall)",
        "effect: its root disk may be half written",
    )
    yield refuse(
        "effect_on_record_before_it_writes",
        "INSERT ON effect",
        f"NEW.step = 'write-image' AND EXISTS ({its} WHERE o.id = NEW.operation"
        " AND o.kind = 'reinstall' AND NOT a.needs_reinstall)",
        "effect: its root disk does not count as half written",
    )
    yield refuse(
        "effect_done_once",
        "UPDATE OF done, result ON effect",
        "OLD.done IS NOT NULL",
        "effect: done for ever",
    )
    yield stay("effect")


def _turns() -> Guards:
    yield append("turn", "operation")
    yield keep("turn", "number operation server pool counted held")
    yield refuse(
        "turn_begins_once",
        "UPDATE ON turn",
        "OLD.begun_at IS NOT NULL",
        "turn: begun for ever",
    )
    yield refuse(
        "turn_let_go_for_ever",
        "UPDATE OF let_go_by ON turn",
        "OLD.let_go_by <> ''",
        "turn: let go by somebody already",
    )
    yield stay("turn")


def _evidence() -> Guards:
    yield refuse(
        "evidence_is_a_chain",
        "INSERT ON evidence",
        "NEW.sequence IS NOT 1 + (SELECT coalesce(max(e.sequence), 0) FROM evidence e)"
        " OR NEW.previous IS NOT coalesce((SELECT e.hash FROM evidence e"
        " ORDER BY e.sequence DESC LIMIT 1), '')"
        " OR EXISTS (SELECT 1 FROM evidence e WHERE e.hash = NEW.hash"
        " OR e.operation = NEW.operation)",
        "evidence: a record follows the last one",
    )
    yield refuse(
        "evidence_of_a_wipe",
        "INSERT ON evidence",
        "NOT EXISTS (SELECT 1 FROM operation o JOIN server s ON s.name = o.server"
        f" WHERE o.id = NEW.operation AND o.status = '{OPEN}' AND o.server = NEW.server"
        " AND o.epoch = s.epoch AND NEW.epoch = s.epoch AND o.kind IN ('clean', 'release'))",
        "evidence: not of a running wipe of this server",
    )
    yield stay("evidence")
    yield refuse("evidence_unchanged", "UPDATE ON evidence", "true", "evidence: rows stay")


def _once() -> Guards:
    for table, key in (
        ("boot", "number"),
        ("agent_order", "operation number"),
        ("image", "name"),
        ("audit", "number"),
        ("call", "number"),
    ):
        yield append(table, key)
    yield refuse(
        "boot_served_once",
        "UPDATE OF served_at, token_sha256 ON boot",
        "OLD.served_at IS NOT NULL",
        "boot: one script, one token",
    )
    yield refuse(
        "order_answered_once",
        "UPDATE ON agent_order",
        "OLD.ok IS NOT NULL",
        "agent_order: answered once",
    )
    yield keep("agent_order", "operation number step epoch kind parameters")
    yield keep("image", "name root image_bytes data_bytes block_bytes logical_sector_bytes")
    yield stay("audit")
    # what is old may go (retention), and nothing that is young
    yield refuse("call_stays", "DELETE ON call", f"OLD.at > {YOUNG_FROM}", "call: rows stay")
    for table in ("audit", "call"):
        yield refuse(f"{table}_unchanged", f"UPDATE ON {table}", "true", f"{table}: rows stay")


def _generation() -> Guards:
    yield stay("site_state")
    yield refuse(
        "site_state_once",
        "INSERT ON site_state",
        "EXISTS (SELECT 1 FROM site_state)",
        "site_state: one row",
    )
    yield refuse(
        "site_state_rises",
        "UPDATE ON site_state",
        "NEW.database_id <> OLD.database_id OR NEW.generation < OLD.generation",
        "site_state: a generation never falls",
    )
    raised = "UPDATE site_state SET generation = generation + 1"
    yield also("generation_of_a_hand_out", "INSERT ON allocation", raised)
    yield also(
        "generation_of_an_end",
        "UPDATE OF ended_at ON allocation WHEN NEW.ended_at IS NOT OLD.ended_at",
        raised,
    )
    # a copy from the middle of an operation would do it again, to whoever has the server now
    yield also("generation_of_an_operation", "INSERT ON operation", raised)
    yield also(
        "generation_of_its_end",
        "UPDATE OF status ON operation WHEN NEW.status IS NOT OLD.status",
        raised,
    )
    yield also(
        "generation_of_an_offer",
        "UPDATE OF state ON server WHEN NEW.state = 'AVAILABLE' AND OLD.state <> 'AVAILABLE'",
        raised,
    )
