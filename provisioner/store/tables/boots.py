"""What a server that boots our agent is handed: its boot, its orders, its seed."""

import sqlalchemy as sa
from sqlalchemy import Boolean, CheckConstraint, Column, Float, ForeignKey, Index, Integer, Text

from provisioner.store.tables.columns import JSON, META, text

BOOT = sa.Table(
    "boot",
    META,
    Column("number", Integer, primary_key=True),
    Column("operation", Text, ForeignKey("operation.id"), nullable=False),
    Column("server", Text, ForeignKey("server.name"), nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("mac", Text, nullable=False),
    text("token_sha256"),
    Column("opened_at", Float, nullable=False),
    Column("window_opened_at", Float),
    Column("served_at", Float),
    Column("called_in_at", Float),
    Column("closed_at", Float),
    CheckConstraint("served_at IS NULL OR window_opened_at IS NOT NULL", name="window_first"),
)
Index("uq_boot_open_server", BOOT.c.server, unique=True, sqlite_where=BOOT.c.closed_at.is_(None))
Index("uq_boot_token", BOOT.c.token_sha256, unique=True, sqlite_where=BOOT.c.token_sha256 != "")

AGENT_ORDER = sa.Table(
    "agent_order",
    META,
    Column("operation", Text, ForeignKey("operation.id"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("step", Text, nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("kind", Text, nullable=False),
    Column("parameters", JSON, nullable=False),
    Column("ok", Boolean()),
    Column("result", JSON, nullable=False),
    text("error_code"),
    text("error_text"),
    sa.UniqueConstraint("operation", "step"),
)

SEED = sa.Table(
    "seed",
    META,
    Column("operation", Text, primary_key=True),  # opened after its seed was kept
    Column("sealed", Text, nullable=False),
)
