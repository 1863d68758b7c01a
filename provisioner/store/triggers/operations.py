# ruff: noqa: S608 statements are built of our own constants
"""Operations, their effects and turns: one at a time, by whoever has the server now."""

from provisioner.store.triggers.words import OPEN, Guards, append, keep, refuse, stay


def operations() -> Guards:
    """One open operation a server; a closed one stays as it ended."""
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


def effects() -> Guards:
    """Of the steps: the owner's, and none that the server is not ready for."""
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


def turns() -> Guards:
    """Of turn."""
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
