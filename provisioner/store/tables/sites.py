"""What this database is, and what the sites that it serves have of us."""

import sqlalchemy as sa
from sqlalchemy import CheckConstraint, Column, Float, Index, Integer, Text

from provisioner.store.tables.columns import JSON, META, flag

SITE_STATE = sa.Table(
    "site_state",
    META,
    Column("one", Integer, primary_key=True),
    Column("database_id", Text, nullable=False),
    Column("generation", Integer, nullable=False),
    CheckConstraint("one = 1", name="one"),
)

SITE_KEY = sa.Table(
    "site_key",
    META,
    Column("site", Text, primary_key=True),
    Column("endpoint", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("secret", Text, nullable=False),  # sealed
    Column("ca", Text, nullable=False),  # PEM, "" where the system knows it
    Column("changed_at", Float, nullable=False),
)

REGISTRATION_LEASE = sa.Table(
    "registration_lease",
    META,
    Column("site", Text, primary_key=True),
    Column("holder", Text, nullable=False),
    Column("who", Text, nullable=False),
    Column("what", Text, nullable=False),
    Column("since", Float, nullable=False),
    Column("until", Float, nullable=False),
)

REGISTERED = sa.Table(
    "registered",
    META,
    Column("number", Integer, primary_key=True),
    Column("site", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("outside_id", Text),  # none while it is being made
    Column("facts", JSON, nullable=False),
    flag("retired"),
    Column("at", Float, nullable=False),
    CheckConstraint("NOT retired OR outside_id IS NOT NULL", name="retired_was_made"),
)
Index(
    "uq_registered_name",
    REGISTERED.c.site,
    REGISTERED.c.kind,
    REGISTERED.c.name,
    unique=True,
    sqlite_where=~REGISTERED.c.retired,
)
Index(
    "uq_registered_outside_id",
    REGISTERED.c.site,
    REGISTERED.c.kind,
    REGISTERED.c.outside_id,
    unique=True,
)
