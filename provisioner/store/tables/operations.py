"""What is done to a server: its steps, their effects, its turn, and what it waits for."""

import sqlalchemy as sa
from sqlalchemy import CheckConstraint, Column, Float, ForeignKey, Index, Integer, Text

from provisioner.servers.operation import Status
from provisioner.store.tables.columns import JSON, META, flag, one_of, text

OPERATION = sa.Table(
    "operation",
    META,
    Column("number", Integer, primary_key=True),
    Column("id", Text, nullable=False, unique=True),
    Column("kind", Text, nullable=False),
    Column("steps_name", Text, nullable=False),
    Column("steps", JSON, nullable=False),
    Column("server", Text, ForeignKey("server.name"), nullable=False),
    Column("allocation", Text, ForeignKey("allocation.id")),
    Column("epoch", Integer, nullable=False),
    Column("who", Text, nullable=False),
    Column("parameters", JSON, nullable=False),
    Column("status", Text, nullable=False),
    Column("opened_at", Float, nullable=False),
    Column("ended_at", Float),
    Column("ending", Text),
    Column("code", Text),
    text("brief"),
    text("detail"),
    text("note"),
    Column("progress_done", sa.BigInteger, nullable=False, default=0),
    Column("progress_total", sa.BigInteger, nullable=False, default=0),
    one_of("status", Status),
    CheckConstraint("(status = 'open') = (ended_at IS NULL)", name="ended"),
    Index("ix_operation_server", "server", "number"),
    Index("ix_operation_allocation", "allocation", "number"),
)
Index(
    "uq_operation_open_server",
    OPERATION.c.server,
    unique=True,
    sqlite_where=OPERATION.c.status == Status.OPEN.value,
)

EFFECT = sa.Table(
    "effect",
    META,
    Column("number", Integer, primary_key=True),
    Column("operation", Text, ForeignKey("operation.id"), nullable=False),
    Column("step", Text, nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("begun", Float, nullable=False),
    Column("done", Float),
    Column("result", JSON, nullable=False),
    Column("beginnings", Integer, nullable=False),
    sa.UniqueConstraint("operation", "step"),
)

TURN = sa.Table(
    "turn",
    META,
    Column("number", Integer, primary_key=True),
    Column("operation", Text, ForeignKey("operation.id"), nullable=False, unique=True),
    Column("server", Text, ForeignKey("server.name"), nullable=False),
    Column("pool", Text, nullable=False),
    flag("counted"),
    flag("held"),
    Column("asked_at", Float),
    text("waits_for"),
    text("let_go_by"),
    Column("begun_at", Float),
    CheckConstraint("begun_at IS NULL OR waits_for = ''", name="begun_waits_no_more"),
    Index("ix_turn_pool", "pool", "begun_at"),
)

ARRIVAL = sa.Table(
    "arrival",
    META,
    Column("operation", Text, ForeignKey("operation.id"), primary_key=True),
    Column("what", Text, primary_key=True),
)
