"""What a server is, its network cards, and what was read of its power."""

import sqlalchemy as sa
from sqlalchemy import Boolean, CheckConstraint, Column, Float, ForeignKey, Index, Integer, Text

from provisioner.servers.model import State
from provisioner.store.tables.columns import JSON, META, flag, one_of, text

SERVER = sa.Table(
    "server",
    META,
    Column("name", Text, primary_key=True),
    Column("pool", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("epoch", Integer, nullable=False),
    flag("dirty"),
    Column("evidence", Text),  # the record that last proved it wiped
    Column("power", Text, nullable=False),
    Column("power_at", Float, nullable=False),
    text("power_source"),
    text("power_why"),
    Column("firmware", Text, nullable=False),
    Column("protocol", Text, nullable=False),
    Column("host", Text, nullable=False),
    Column("port", Integer, nullable=False),
    Column("user_name", Text, nullable=False),
    text("system"),
    Column("cipher_suite", Integer),
    Column("password", Text, nullable=False),  # sealed
    Column("root_disk", JSON, nullable=False),
    Column("driver", Text),
    Column("identity", JSON),
    Column("system_uuid", Text),  # as the controller says it, in one spelling
    Column("board_uuid", Text),  # as the agent read it from SMBIOS, in the same
    text("restore_policy"),
    text("kernel_arguments"),
    text("console"),
    Column("baseline", Text),
    Column("baseline_at", Float),
    Column("hidden_media", JSON, nullable=False, server_default="[]"),
    Column("rebaselines", JSON, nullable=False, server_default="[]"),
    Column("cpu_threads", Integer, nullable=False, default=0),
    Column("memory_bytes", sa.BigInteger, nullable=False, default=0),
    Column("gpus", Integer, nullable=False, default=0),
    Column("excluded_disks", JSON, nullable=False),
    Column("expected", JSON),
    Column("maintenance", JSON),
    Column("health", JSON, nullable=False),
    text("reason"),
    flag("found_on"),
    one_of("state", State),
    CheckConstraint("NOT (state = 'AVAILABLE' AND dirty)", name="offered_is_clean"),
    CheckConstraint("state NOT IN ('ACTIVE', 'RESCUE') OR dirty", name="in_use_is_dirty"),
)
_IN_USE = SERVER.c.state != State.RETIRED.value
Index("uq_server_system_uuid", SERVER.c.system_uuid, unique=True, sqlite_where=_IN_USE)
Index("uq_server_board_uuid", SERVER.c.board_uuid, unique=True, sqlite_where=_IN_USE)
Index("uq_server_controller", SERVER.c.host, SERVER.c.port, unique=True, sqlite_where=_IN_USE)
Index("ix_server_free", SERVER.c.pool, SERVER.c.state, SERVER.c.name)

NIC = sa.Table(
    "nic",
    META,
    Column("server", Text, ForeignKey("server.name"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("mac", Text, nullable=False),
    Column("roles", JSON, nullable=False),
    Column("port", Text, nullable=False),
    Column("living", Boolean(), nullable=False),  # false with a retired server
)
Index("uq_nic_mac", NIC.c.mac, unique=True, sqlite_where=NIC.c.living)

READING = sa.Table(
    "reading",
    META,
    Column("number", Integer, primary_key=True),
    Column("server", Text, ForeignKey("server.name"), nullable=False),
    Column("power", Text, nullable=False),
    Column("at", Float, nullable=False, index=True),
    Column("source", Text, nullable=False),
    text("why"),
    Index("ix_reading_server", "server", "number"),
)
