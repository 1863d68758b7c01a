"""The first schema.

Triggers are not here: provisioner/store/guards.py lets them stand at each start.
"""

import uuid
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_JSON = sa.JSON(none_as_null=True)


def upgrade() -> None:
    """Make the tables, and give this database its id."""
    _audit()
    _call()
    _image()
    _pool()
    _site_state()
    _tombstone()
    _server()
    _nic()
    _reading()
    _allocation()
    _operation()
    _arrival()
    _effect()
    _seed()
    _agent_order()
    _boot()
    _evidence()
    site_state = sa.table("site_state", *map(sa.column, ("one", "database_id", "generation")))
    row = {"one": 1, "database_id": str(uuid.uuid4()), "generation": 0}
    op.execute(site_state.insert().values(**row))


def _unique(name: str, table: str, columns: list[str], where: str) -> None:
    op.create_index(name, table, columns, unique=True, sqlite_where=sa.text(where))


def _columns(
    kind: type[sa.types.TypeEngine[Any]] | sa.JSON, names: str, *, null: bool = False
) -> Iterator[sa.Column[Any]]:
    return (sa.Column(name, kind, nullable=null) for name in names.split())


def _flags(names: str) -> Iterator[sa.Column[bool]]:
    for name in names.split():
        yield sa.Column(name, sa.Boolean(create_constraint=True, name=name), nullable=False)


def _audit() -> None:
    op.create_table(
        "audit",
        *_columns(sa.Integer, "number"),
        *_columns(sa.Float, "at"),
        *_columns(sa.Text, "who act subject detail"),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_audit")),
    )


def _call() -> None:
    op.create_table(
        "call",
        *_columns(sa.Integer, "number"),
        *_columns(sa.Float, "at"),
        *_columns(sa.Text, "server"),
        *_columns(sa.Text, "operation", null=True),
        *_columns(sa.Text, "door text outcome"),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_call")),
    )
    op.create_index("ix_call_operation", "call", ["operation", "number"])
    op.create_index("ix_call_server", "call", ["server", "number"])


def _image() -> None:
    op.create_table(
        "image",
        *_columns(sa.Text, "name root"),
        *_columns(sa.BigInteger, "image_bytes data_bytes"),
        *_columns(sa.Integer, "block_bytes logical_sector_bytes"),
        *_columns(sa.Text, "source_format"),
        *_columns(sa.Float, "imported_at"),
        *_columns(sa.Text, "folder"),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_image")),
    )


def _pool() -> None:
    op.create_table(
        "pool",
        *_columns(sa.Text, "name"),
        *_columns(_JSON, "images"),
        *_columns(sa.Integer, "min_cpu_threads"),
        *_columns(sa.BigInteger, "min_memory_bytes"),
        *_columns(sa.Integer, "min_gpus"),
        *_columns(_JSON, "policy"),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_pool")),
    )


def _site_state() -> None:
    op.create_table(
        "site_state",
        *_columns(sa.Integer, "one"),
        *_columns(sa.Text, "database_id"),
        *_columns(sa.Integer, "generation"),
        sa.CheckConstraint("one = 1", name=op.f("ck_site_state_one")),
        sa.PrimaryKeyConstraint("one", name=op.f("pk_site_state")),
    )


def _tombstone() -> None:
    op.create_table(
        "tombstone",
        *_columns(sa.Text, "site instance"),
        *_columns(sa.Float, "at"),
        sa.PrimaryKeyConstraint("site", "instance", name=op.f("pk_tombstone")),
    )


def _server() -> None:
    op.create_table(
        "server",
        *_columns(sa.Text, "name pool state"),
        *_columns(sa.Integer, "epoch"),
        *_flags("dirty"),
        *_columns(sa.Text, "evidence", null=True),
        *_columns(sa.Text, "power"),
        *_columns(sa.Float, "power_at"),
        *_columns(sa.Text, "power_source power_why firmware protocol host"),
        *_columns(sa.Integer, "port"),
        *_columns(sa.Text, "user_name system"),
        *_columns(sa.Integer, "cipher_suite", null=True),
        *_columns(sa.Text, "password"),
        *_columns(_JSON, "root_disk"),
        *_columns(sa.Text, "driver", null=True),
        *_columns(_JSON, "identity", null=True),
        *_columns(sa.Text, "system_uuid board_uuid", null=True),
        *_columns(sa.Text, "restore_policy kernel_arguments console"),
        *_columns(sa.Text, "baseline", null=True),
        *_columns(sa.Float, "baseline_at", null=True),
        *_columns(sa.Integer, "cpu_threads"),
        *_columns(sa.BigInteger, "memory_bytes"),
        *_columns(sa.Integer, "gpus"),
        *_columns(_JSON, "excluded_disks"),
        *_columns(_JSON, "expected maintenance", null=True),
        *_columns(_JSON, "health"),
        *_columns(sa.Text, "reason"),
        *_flags("found_on"),
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


def _nic() -> None:
    op.create_table(
        "nic",
        *_columns(sa.Text, "server"),
        *_columns(sa.Integer, "position"),
        *_columns(sa.Text, "mac"),
        *_columns(_JSON, "roles"),
        *_columns(sa.Text, "port"),
        sa.Column("living", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["server"], ["server.name"], name=op.f("fk_nic_server")),
        sa.PrimaryKeyConstraint("server", "position", name=op.f("pk_nic")),
    )
    _unique("uq_nic_mac", "nic", ["mac"], "living")


def _reading() -> None:
    op.create_table(
        "reading",
        *_columns(sa.Integer, "number"),
        *_columns(sa.Text, "server power"),
        *_columns(sa.Float, "at"),
        *_columns(sa.Text, "source why"),
        sa.ForeignKeyConstraint(["server"], ["server.name"], name=op.f("fk_reading_server")),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_reading")),
    )
    op.create_index("ix_reading_at", "reading", ["at"])
    op.create_index("ix_reading_server", "reading", ["server", "number"])


def _allocation() -> None:
    op.create_table(
        "allocation",
        *_columns(sa.Integer, "number"),
        *_columns(sa.Text, "id site instance name who server pool phase wanted"),
        *_columns(sa.Float, "created_at"),
        *_columns(sa.Text, "image", null=True),
        *_columns(_JSON, "networks"),
        *_columns(sa.Float, "reserved_until", null=True),
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
        *_flags("ever_powered"),
        *_columns(sa.Float, "commanded_at stop_grace_until", null=True),
        *_columns(sa.Text, "operation", null=True),
        *_columns(sa.Float, "ended_at", null=True),
        *_columns(sa.Text, "end_reason"),
        sa.Column(
            "off_confirmed",
            sa.Boolean(create_constraint=True, name="off_confirmed"),
            nullable=False,
        ),
        *_flags("needs_reseed"),
        *_columns(sa.Text, "truth"),
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


def _operation() -> None:
    op.create_table(
        "operation",
        *_columns(sa.Integer, "number"),
        *_columns(sa.Text, "id kind steps_name"),
        *_columns(_JSON, "steps"),
        *_columns(sa.Text, "server"),
        *_columns(sa.Text, "allocation", null=True),
        *_columns(sa.Integer, "epoch"),
        *_columns(sa.Text, "who"),
        *_columns(_JSON, "parameters"),
        *_columns(sa.Text, "status"),
        *_columns(sa.Float, "opened_at"),
        *_columns(sa.Float, "ended_at", null=True),
        *_columns(sa.Text, "ending code", null=True),
        *_columns(sa.Text, "brief detail note"),
        *_columns(sa.BigInteger, "progress_done progress_total"),
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


def _arrival() -> None:
    op.create_table(
        "arrival",
        *_columns(sa.Text, "operation what"),
        sa.ForeignKeyConstraint(["operation"], ["operation.id"], name=op.f("fk_arrival_operation")),
        sa.PrimaryKeyConstraint("operation", "what", name=op.f("pk_arrival")),
    )


def _effect() -> None:
    op.create_table(
        "effect",
        *_columns(sa.Integer, "number"),
        *_columns(sa.Text, "operation step"),
        *_columns(sa.Integer, "epoch"),
        *_columns(sa.Float, "begun"),
        *_columns(sa.Float, "done", null=True),
        *_columns(_JSON, "result"),
        *_columns(sa.Integer, "beginnings"),
        sa.ForeignKeyConstraint(["operation"], ["operation.id"], name=op.f("fk_effect_operation")),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_effect")),
        sa.UniqueConstraint("operation", "step", name=op.f("uq_effect_operation_step")),
    )


def _seed() -> None:
    op.create_table(
        "seed",
        *_columns(sa.Text, "operation sealed"),
        sa.PrimaryKeyConstraint("operation", name=op.f("pk_seed")),
    )


def _agent_order() -> None:
    op.create_table(
        "agent_order",
        *_columns(sa.Text, "operation"),
        *_columns(sa.Integer, "number"),
        *_columns(sa.Text, "step"),
        *_columns(sa.Integer, "epoch"),
        *_columns(sa.Text, "kind"),
        *_columns(_JSON, "parameters"),
        sa.Column("ok", sa.Boolean(), nullable=True),
        *_columns(_JSON, "result"),
        *_columns(sa.Text, "error_code error_text"),
        sa.ForeignKeyConstraint(
            ["operation"], ["operation.id"], name=op.f("fk_agent_order_operation")
        ),
        sa.PrimaryKeyConstraint("operation", "number", name=op.f("pk_agent_order")),
        sa.UniqueConstraint("operation", "step", name=op.f("uq_agent_order_operation_step")),
    )


def _boot() -> None:
    op.create_table(
        "boot",
        *_columns(sa.Integer, "number"),
        *_columns(sa.Text, "operation server"),
        *_columns(sa.Integer, "epoch"),
        *_columns(sa.Text, "mac token_sha256"),
        *_columns(sa.Float, "opened_at"),
        *_columns(sa.Float, "window_opened_at served_at called_in_at closed_at", null=True),
        sa.CheckConstraint(
            "served_at IS NULL OR window_opened_at IS NOT NULL", name=op.f("ck_boot_window_first")
        ),
        sa.ForeignKeyConstraint(["operation"], ["operation.id"], name=op.f("fk_boot_operation")),
        sa.ForeignKeyConstraint(["server"], ["server.name"], name=op.f("fk_boot_server")),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_boot")),
    )
    _unique("uq_boot_open_server", "boot", ["server"], "closed_at IS NULL")
    _unique("uq_boot_token", "boot", ["token_sha256"], "token_sha256 != ''")


def _evidence() -> None:
    op.create_table(
        "evidence",
        sa.Column("sequence", sa.Integer(), autoincrement=False, nullable=False),
        *_columns(sa.Text, "hash previous server operation"),
        *_columns(sa.Integer, "epoch"),
        *_columns(_JSON, "record"),
        sa.ForeignKeyConstraint(
            ["operation"], ["operation.id"], name=op.f("fk_evidence_operation")
        ),
        sa.ForeignKeyConstraint(["server"], ["server.name"], name=op.f("fk_evidence_server")),
        sa.PrimaryKeyConstraint("sequence", name=op.f("pk_evidence")),
        sa.UniqueConstraint("hash", name=op.f("uq_evidence_hash")),
        sa.UniqueConstraint("operation", name=op.f("uq_evidence_operation")),
        sa.UniqueConstraint("previous", name=op.f("uq_evidence_previous")),
    )
