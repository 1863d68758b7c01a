"""What was done, kept as proof: evidence of wipes, calls to hardware, acts of people."""

import sqlalchemy as sa
from sqlalchemy import Column, Float, ForeignKey, Index, Integer, Text

from provisioner.store.tables.columns import JSON, META, text

EVIDENCE = sa.Table(
    "evidence",
    META,
    Column("sequence", Integer, primary_key=True, autoincrement=False),
    Column("hash", Text, nullable=False, unique=True),
    Column("previous", Text, nullable=False, unique=True),  # "" before the first
    Column("server", Text, ForeignKey("server.name"), nullable=False),
    Column("operation", Text, ForeignKey("operation.id"), nullable=False, unique=True),
    Column("epoch", Integer, nullable=False),
    Column("record", JSON, nullable=False),
)

CALL = sa.Table(
    "call",
    META,
    Column("number", Integer, primary_key=True),
    Column("at", Float, nullable=False),
    Column("server", Text, nullable=False),
    Column("operation", Text),
    Column("door", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("outcome", Text, nullable=False),
    Index("ix_call_server", "server", "number"),
    Index("ix_call_operation", "operation", "number"),
)

AUDIT = sa.Table(
    "audit",
    META,
    Column("number", Integer, primary_key=True),
    Column("at", Float, nullable=False),
    Column("who", Text, nullable=False),
    Column("act", Text, nullable=False),
    Column("subject", Text, nullable=False),
    text("detail"),
)
