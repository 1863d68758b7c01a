"""Our tables. A constraint has a name that says what must never happen.

What a CHECK or an index cannot say is a trigger in guards.py. Wall-clock times are REAL
seconds since 1970. Every table that tells a history is ordered by its `number`.
"""

import sqlalchemy as sa
from sqlalchemy import Boolean, CheckConstraint, Column, Float, ForeignKey, Index, Integer, Text

from provisioner.servers.allocation import Phase
from provisioner.servers.model import State
from provisioner.servers.operation import Status

META = sa.MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)

JSON = sa.JSON(none_as_null=True)


def _one_of(column: str, values: type[State | Phase | Status]) -> CheckConstraint:
    names = ", ".join(f"'{each.value}'" for each in values)
    return CheckConstraint(f"{column} IN ({names})", name=column)


def _flag(name: str) -> Column[bool]:
    return Column(name, Boolean(name=name, create_constraint=True), nullable=False, default=False)


def _text(name: str) -> Column[str]:
    return Column(name, Text, nullable=False, default="")


SITE_STATE = sa.Table(
    "site_state",
    META,
    Column("one", Integer, primary_key=True),
    Column("database_id", Text, nullable=False),
    Column("generation", Integer, nullable=False),
    CheckConstraint("one = 1", name="one"),
)

SERVER = sa.Table(
    "server",
    META,
    Column("name", Text, primary_key=True),
    Column("pool", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("epoch", Integer, nullable=False),
    _flag("dirty"),
    Column("evidence", Text),  # the record that last proved it wiped
    Column("power", Text, nullable=False),
    Column("power_at", Float, nullable=False),
    _text("power_source"),
    _text("power_why"),
    Column("firmware", Text, nullable=False),
    Column("protocol", Text, nullable=False),
    Column("host", Text, nullable=False),
    Column("port", Integer, nullable=False),
    Column("user_name", Text, nullable=False),
    _text("system"),
    Column("cipher_suite", Integer),
    Column("password", Text, nullable=False),  # sealed
    Column("root_disk", JSON, nullable=False),
    Column("driver", Text),
    Column("identity", JSON),
    Column("system_uuid", Text),  # as the controller says it, in one spelling
    Column("board_uuid", Text),  # as the agent read it from SMBIOS, in the same
    _text("restore_policy"),
    _text("kernel_arguments"),
    _text("console"),
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
    _text("reason"),
    _flag("found_on"),
    _one_of("state", State),
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
    _text("why"),
    Index("ix_reading_server", "server", "number"),
)

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
    _flag("known_to_caller"),
    _flag("first_boot_asked"),
    _flag("ever_powered"),
    Column("commanded_at", Float),
    Column("stop_grace_until", Float),
    Column("operation", Text),
    Column("ended_at", Float),
    _text("end_reason"),
    Column("host", Text, nullable=False, server_default=""),
    Column("owner", Text, nullable=False, server_default=""),
    Column("size", Text, nullable=False, server_default=""),
    _flag("off_confirmed"),
    _flag("needs_reseed"),
    _text("truth"),
    Column("protection", Text, nullable=False, server_default="not asked"),
    _one_of("phase", Phase),
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

TOMBSTONE = sa.Table(
    "tombstone",
    META,
    Column("site", Text, primary_key=True),
    Column("instance", Text, primary_key=True),
    Column("at", Float, nullable=False),
)

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
    _text("brief"),
    _text("detail"),
    _text("note"),
    Column("progress_done", sa.BigInteger, nullable=False, default=0),
    Column("progress_total", sa.BigInteger, nullable=False, default=0),
    _one_of("status", Status),
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
    _flag("counted"),
    _flag("held"),
    Column("asked_at", Float),
    _text("waits_for"),
    _text("let_go_by"),
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

BOOT = sa.Table(
    "boot",
    META,
    Column("number", Integer, primary_key=True),
    Column("operation", Text, ForeignKey("operation.id"), nullable=False),
    Column("server", Text, ForeignKey("server.name"), nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("mac", Text, nullable=False),
    _text("token_sha256"),
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
    _text("error_code"),
    _text("error_text"),
    sa.UniqueConstraint("operation", "step"),
)

SEED = sa.Table(
    "seed",
    META,
    Column("operation", Text, primary_key=True),  # opened after its seed was kept
    Column("sealed", Text, nullable=False),
)

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

POOL = sa.Table(
    "pool",
    META,
    Column("name", Text, primary_key=True),
    Column("images", JSON, nullable=False),
    Column("min_cpu_threads", Integer, nullable=False),
    Column("min_memory_bytes", sa.BigInteger, nullable=False),
    Column("min_gpus", Integer, nullable=False),
    Column("policy", JSON, nullable=False),
)

IMAGE = sa.Table(
    "image",
    META,
    Column("name", Text, primary_key=True),
    Column("root", Text, nullable=False),
    Column("image_bytes", sa.BigInteger, nullable=False),
    Column("data_bytes", sa.BigInteger, nullable=False),
    Column("block_bytes", Integer, nullable=False),
    Column("logical_sector_bytes", Integer, nullable=False),
    Column("source_format", Text, nullable=False),
    Column("imported_at", Float, nullable=False),
    Column("folder", Text, nullable=False),
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
    _text("detail"),
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
    _flag("retired"),
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
