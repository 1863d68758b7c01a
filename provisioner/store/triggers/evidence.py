# ruff: noqa: S608 statements are built of our own constants
"""The chain of wipe records: it only grows, by running wipes alone."""

from provisioner.store.triggers.words import OPEN, Guards, refuse, stay


def evidence() -> Guards:
    """Of evidence."""
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
