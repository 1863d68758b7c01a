"""What an instance has, what was told of its failure, and which are gone for ever."""

import sqlalchemy as sa
from sqlalchemy import Boolean, CheckConstraint, Column, Float, ForeignKey, Index, Integer, Text

from provisioner.servers.allocation import Phase
from provisioner.store.tables.columns import JSON, META, flag, one_of, text

ALLOCATION = sa.Table(
    "allocation",
    META,
    Column("number", Integer, primary_key=True),
    Column("id", Text, nullable=False, unique=True),
    Column("site", Text, nullable=False),
    Column("instance", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("who", Text, nullable=False),
    Column("server", Text, ForeignKey("server.name"), nullable=False),
    Column("pool", Text, nullable=False),
    Column("phase", Text, nullable=False),
    Column("wanted", Text, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("image", Text),
    Column("networks", JSON, nullable=False),
    Column("reserved_until", Float),
    flag("known_to_caller"),
    flag("first_boot_asked"),
    flag("ever_powered"),
    Column("commanded_at", Float),
    Column("stop_grace_until", Float),
    Column("operation", Text),
    Column("ended_at", Float),
    text("end_reason"),
    Column("host", Text, nullable=False, server_default=""),
    Column("owner", Text, nullable=False, server_default=""),
    Column("size", Text, nullable=False, server_default=""),
    flag("off_confirmed"),
    flag("needs_reseed"),
    Column("needs_reinstall", Boolean, nullable=False, server_default="0"),
    Column("off_first", Boolean, nullable=False, server_default="0"),
    Column("hostname", Text, nullable=False, server_default=""),
    text("truth"),
    Column("protection", Text, nullable=False, server_default="not asked"),
    one_of("phase", Phase),
    CheckConstraint("(phase = 'ended') = (ended_at IS NOT NULL)", name="ended"),
    Index("ix_allocation_instance", "site", "instance", "number"),
)
_LIVING = ALLOCATION.c.ended_at.is_(None)
Index("uq_allocation_living_server", ALLOCATION.c.server, unique=True, sqlite_where=_LIVING)
Index(
    "uq_allocation_living_instance",
    ALLOCATION.c.site,
    ALLOCATION.c.instance,
    unique=True,
    sqlite_where=_LIVING,
)

FAILURE_NOTE = sa.Table(
    "failure_note",
    META,
    Column("operation", Text, ForeignKey("operation.id"), primary_key=True),
    Column("outside_id", Text, nullable=False),
    Column("left_at", Float, nullable=False),
    Column("taken_back_at", Float),
)

TOMBSTONE = sa.Table(
    "tombstone",
    META,
    Column("site", Text, primary_key=True),
    Column("instance", Text, primary_key=True),
    Column("at", Float, nullable=False),
)
