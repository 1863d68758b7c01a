"""The first schema.

Triggers are not here: provisioner/store/guards.py lets them stand at each start.
"""

import uuid

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables, and give this database its id."""
    _beside()
    _servers()
    _work()
    _boots()
    site_state = sa.table("site_state", *map(sa.column, ("one", "database_id", "generation")))
    row = {"one": 1, "database_id": str(uuid.uuid4()), "generation": 0}
    op.execute(site_state.insert().values(**row))


def _beside() -> None:
    op.create_table(
        "audit",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("act", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_audit")),
    )
    op.create_table(
        "call",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("server", sa.Text(), nullable=False),
        sa.Column("operation", sa.Text(), nullable=True),
        sa.Column("door", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_call")),
    )
    op.create_index("ix_call_operation", "call", ["operation", "number"])
    op.create_index("ix_call_server", "call", ["server", "number"])
    op.create_table(
        "image",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("root", sa.Text(), nullable=False),
        sa.Column("image_bytes", sa.BigInteger(), nullable=False),
        sa.Column("data_bytes", sa.BigInteger(), nullable=False),
        sa.Column("block_bytes", sa.Integer(), nullable=False),
        sa.Column("logical_sector_bytes", sa.Integer(), nullable=False),
        sa.Column("source_format", sa.Text(), nullable=False),
        sa.Column("imported_at", sa.Float(), nullable=False),
        sa.Column("folder", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_image")),
    )
    op.create_table(
        "pool",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("images", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("min_cpu_threads", sa.Integer(), nullable=False),
        sa.Column("min_memory_bytes", sa.BigInteger(), nullable=False),
        sa.Column("min_gpus", sa.Integer(), nullable=False),
        sa.Column("policy", sa.JSON(none_as_null=True), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_pool")),
    )
    op.create_table(
        "site_state",
        sa.Column("one", sa.Integer(), nullable=False),
        sa.Column("database_id", sa.Text(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.CheckConstraint("one = 1", name=op.f("ck_site_state_one")),
        sa.PrimaryKeyConstraint("one", name=op.f("pk_site_state")),
    )
    op.create_table(
        "tombstone",
        sa.Column("site", sa.Text(), nullable=False),
        sa.Column("instance", sa.Text(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("site", "instance", name=op.f("pk_tombstone")),
    )


def _servers() -> None:
    op.create_table(
        "server",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("pool", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("dirty", sa.Boolean(create_constraint=True, name="dirty"), nullable=False),
        sa.Column("evidence", sa.Text(), nullable=True),
        sa.Column("power", sa.Text(), nullable=False),
        sa.Column("power_at", sa.Float(), nullable=False),
        sa.Column("power_source", sa.Text(), nullable=False),
        sa.Column("power_why", sa.Text(), nullable=False),
        sa.Column("firmware", sa.Text(), nullable=False),
        sa.Column("protocol", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("port", sa.Integer(), nullable=False),
        sa.Column("user_name", sa.Text(), nullable=False),
        sa.Column("system", sa.Text(), nullable=False),
        sa.Column("cipher_suite", sa.Integer(), nullable=True),
        sa.Column("password", sa.Text(), nullable=False),
        sa.Column("root_disk", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("driver", sa.Text(), nullable=True),
        sa.Column("identity", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("system_uuid", sa.Text(), nullable=True),
        sa.Column("board_uuid", sa.Text(), nullable=True),
        sa.Column("restore_policy", sa.Text(), nullable=False),
        sa.Column("kernel_arguments", sa.Text(), nullable=False),
        sa.Column("console", sa.Text(), nullable=False),
        sa.Column("baseline", sa.Text(), nullable=True),
        sa.Column("baseline_at", sa.Float(), nullable=True),
        sa.Column("cpu_threads", sa.Integer(), nullable=False),
        sa.Column("memory_bytes", sa.BigInteger(), nullable=False),
        sa.Column("gpus", sa.Integer(), nullable=False),
        sa.Column("excluded_disks", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("expected", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("maintenance", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("health", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("found_on", sa.Boolean(create_constraint=True, name="found_on"), nullable=False),
        sa.CheckConstraint(
            "NOT (state = 'AVAILABLE' AND dirty)", name=op.f("ck_server_offered_is_clean")
        ),
        sa.CheckConstraint(
            "state IN ('ENROLLED', 'VERIFYING', 'INSPECTING', 'CLEANING', "
            "'AVAILABLE', 'RESERVED', 'DEPLOYING', 'ACTIVE', 'RELEASING', 'RESCUE',"
            " 'QUARANTINED', 'RETIRED')",
            name=op.f("ck_server_state"),
        ),
        sa.CheckConstraint(
            "state NOT IN ('ACTIVE', 'RESCUE') OR dirty", name=op.f("ck_server_in_use_is_dirty")
        ),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_server")),
    )
    op.create_index("ix_server_free", "server", ["pool", "state", "name"])
    _unique("uq_server_board_uuid", "server", ["board_uuid"], "state != 'RETIRED'")
    _unique("uq_server_controller", "server", ["host", "port"], "state != 'RETIRED'")
    _unique("uq_server_system_uuid", "server", ["system_uuid"], "state != 'RETIRED'")
    op.create_table(
        "nic",
        sa.Column("server", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("mac", sa.Text(), nullable=False),
        sa.Column("roles", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("port", sa.Text(), nullable=False),
        sa.Column("living", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["server"], ["server.name"], name=op.f("fk_nic_server")),
        sa.PrimaryKeyConstraint("server", "position", name=op.f("pk_nic")),
    )
    _unique("uq_nic_mac", "nic", ["mac"], "living")
    op.create_table(
        "reading",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("server", sa.Text(), nullable=False),
        sa.Column("power", sa.Text(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["server"], ["server.name"], name=op.f("fk_reading_server")),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_reading")),
    )
    op.create_index("ix_reading_at", "reading", ["at"])
    op.create_index("ix_reading_server", "reading", ["server", "number"])


def _work() -> None:
    op.create_table(
        "allocation",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("site", sa.Text(), nullable=False),
        sa.Column("instance", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("server", sa.Text(), nullable=False),
        sa.Column("pool", sa.Text(), nullable=False),
        sa.Column("phase", sa.Text(), nullable=False),
        sa.Column("wanted", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("image", sa.Text(), nullable=True),
        sa.Column("networks", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("reserved_until", sa.Float(), nullable=True),
        sa.Column(
            "known_to_caller",
            sa.Boolean(create_constraint=True, name="known_to_caller"),
            nullable=False,
        ),
        sa.Column(
            "first_boot_asked",
            sa.Boolean(create_constraint=True, name="first_boot_asked"),
            nullable=False,
        ),
        sa.Column(
            "ever_powered", sa.Boolean(create_constraint=True, name="ever_powered"), nullable=False
        ),
        sa.Column("commanded_at", sa.Float(), nullable=True),
        sa.Column("stop_grace_until", sa.Float(), nullable=True),
        sa.Column("operation", sa.Text(), nullable=True),
        sa.Column("ended_at", sa.Float(), nullable=True),
        sa.Column("end_reason", sa.Text(), nullable=False),
        sa.Column(
            "off_confirmed",
            sa.Boolean(create_constraint=True, name="off_confirmed"),
            nullable=False,
        ),
        sa.Column(
            "needs_reseed", sa.Boolean(create_constraint=True, name="needs_reseed"), nullable=False
        ),
        sa.Column("truth", sa.Text(), nullable=False),
        sa.CheckConstraint(
            "(phase = 'ended') = (ended_at IS NOT NULL)", name=op.f("ck_allocation_ended")
        ),
        sa.CheckConstraint(
            "phase IN ('reserved', 'deploying', 'active', 'ended')",
            name=op.f("ck_allocation_phase"),
        ),
        sa.ForeignKeyConstraint(["server"], ["server.name"], name=op.f("fk_allocation_server")),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_allocation")),
        sa.UniqueConstraint("id", name=op.f("uq_allocation_id")),
    )
    op.create_index("ix_allocation_instance", "allocation", ["site", "instance", "number"])
    _unique("uq_allocation_living_instance", "allocation", ["site", "instance"], "ended_at IS NULL")
    _unique("uq_allocation_living_server", "allocation", ["server"], "ended_at IS NULL")
    op.create_table(
        "operation",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("steps_name", sa.Text(), nullable=False),
        sa.Column("steps", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("server", sa.Text(), nullable=False),
        sa.Column("allocation", sa.Text(), nullable=True),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("parameters", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("opened_at", sa.Float(), nullable=False),
        sa.Column("ended_at", sa.Float(), nullable=True),
        sa.Column("ending", sa.Text(), nullable=True),
        sa.Column("code", sa.Text(), nullable=True),
        sa.Column("brief", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("progress_done", sa.BigInteger(), nullable=False),
        sa.Column("progress_total", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(
            "(status = 'open') = (ended_at IS NULL)", name=op.f("ck_operation_ended")
        ),
        sa.CheckConstraint(
            "status IN ('open', 'done', 'failed', 'superseded', 'cancelled')",
            name=op.f("ck_operation_status"),
        ),
        sa.ForeignKeyConstraint(
            ["allocation"], ["allocation.id"], name=op.f("fk_operation_allocation")
        ),
        sa.ForeignKeyConstraint(["server"], ["server.name"], name=op.f("fk_operation_server")),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_operation")),
        sa.UniqueConstraint("id", name=op.f("uq_operation_id")),
    )
    op.create_index("ix_operation_allocation", "operation", ["allocation", "number"])
    op.create_index("ix_operation_server", "operation", ["server", "number"])
    _unique("uq_operation_open_server", "operation", ["server"], "status = 'open'")
    op.create_table(
        "arrival",
        sa.Column("operation", sa.Text(), nullable=False),
        sa.Column("what", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["operation"], ["operation.id"], name=op.f("fk_arrival_operation")),
        sa.PrimaryKeyConstraint("operation", "what", name=op.f("pk_arrival")),
    )
    op.create_table(
        "effect",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("operation", sa.Text(), nullable=False),
        sa.Column("step", sa.Text(), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("begun", sa.Float(), nullable=False),
        sa.Column("done", sa.Float(), nullable=True),
        sa.Column("result", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("beginnings", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["operation"], ["operation.id"], name=op.f("fk_effect_operation")),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_effect")),
        sa.UniqueConstraint("operation", "step", name=op.f("uq_effect_operation_step")),
    )


def _boots() -> None:
    op.create_table(
        "seed",
        sa.Column("operation", sa.Text(), nullable=False),
        sa.Column("sealed", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("operation", name=op.f("pk_seed")),
    )
    op.create_table(
        "agent_order",
        sa.Column("operation", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("step", sa.Text(), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("parameters", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("ok", sa.Boolean(), nullable=True),
        sa.Column("result", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("error_code", sa.Text(), nullable=False),
        sa.Column("error_text", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["operation"], ["operation.id"], name=op.f("fk_agent_order_operation")
        ),
        sa.PrimaryKeyConstraint("operation", "number", name=op.f("pk_agent_order")),
        sa.UniqueConstraint("operation", "step", name=op.f("uq_agent_order_operation_step")),
    )
    op.create_table(
        "boot",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("operation", sa.Text(), nullable=False),
        sa.Column("server", sa.Text(), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("mac", sa.Text(), nullable=False),
        sa.Column("token_sha256", sa.Text(), nullable=False),
        sa.Column("opened_at", sa.Float(), nullable=False),
        sa.Column("window_opened_at", sa.Float(), nullable=True),
        sa.Column("served_at", sa.Float(), nullable=True),
        sa.Column("called_in_at", sa.Float(), nullable=True),
        sa.Column("closed_at", sa.Float(), nullable=True),
        sa.CheckConstraint(
            "served_at IS NULL OR window_opened_at IS NOT NULL", name=op.f("ck_boot_window_first")
        ),
        sa.ForeignKeyConstraint(["operation"], ["operation.id"], name=op.f("fk_boot_operation")),
        sa.ForeignKeyConstraint(["server"], ["server.name"], name=op.f("fk_boot_server")),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_boot")),
    )
    _unique("uq_boot_open_server", "boot", ["server"], "closed_at IS NULL")
    _unique("uq_boot_token", "boot", ["token_sha256"], "token_sha256 != ''")
    op.create_table(
        "evidence",
        sa.Column("sequence", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("previous", sa.Text(), nullable=False),
        sa.Column("server", sa.Text(), nullable=False),
        sa.Column("operation", sa.Text(), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("record", sa.JSON(none_as_null=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["operation"], ["operation.id"], name=op.f("fk_evidence_operation")
        ),
        sa.ForeignKeyConstraint(["server"], ["server.name"], name=op.f("fk_evidence_server")),
        sa.PrimaryKeyConstraint("sequence", name=op.f("pk_evidence")),
        sa.UniqueConstraint("hash", name=op.f("uq_evidence_hash")),
        sa.UniqueConstraint("operation", name=op.f("uq_evidence_operation")),
        sa.UniqueConstraint("previous", name=op.f("uq_evidence_previous")),
    )


def _unique(name: str, table: str, columns: list[str], where: str) -> None:
    op.create_index(name, table, columns, unique=True, sqlite_where=sa.text(where))
