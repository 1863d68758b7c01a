# ruff: noqa: S608 statements are built of our own constants
"""What is written once: boots, orders to agents, images, acts of people, calls to hardware."""

from provisioner.store.triggers.words import Guards, append, keep, refuse, stay

YOUNG_S = 7 * 86400
YOUNG_FROM = (
    "min((SELECT x.at FROM call x ORDER BY x.number DESC LIMIT 1),"
    f" CAST(strftime('%s', 'now') AS INTEGER)) - {YOUNG_S}"
)
"""Calls after this moment stay: of the newest one's last week, and of the clock's, so that a row
from the future makes no other one old."""


def once() -> Guards:
    """Of boot, agent_order, image, audit and call."""
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
