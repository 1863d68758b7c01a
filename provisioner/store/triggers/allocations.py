# ruff: noqa: S608 statements are built of our own constants
"""Allocations and tombstones: who has a server, and who never again."""

from provisioner.store.triggers.words import Guards, append, keep, refuse, stay

_LIVES = "NEW.ended_at IS NULL"


def allocations() -> Guards:
    """Of allocation and tombstone."""
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
