"""GPU hosts."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0010"


def upgrade() -> None:
    """None so far."""
    op.create_table(
        "host",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("access", sa.JSON()),
        sa.Column("controller_host", sa.Text()),
        sa.Column("controller_port", sa.Integer()),
        sa.Column("cloudstack", sa.JSON()),
        sa.Column("system_uuid", sa.Text()),
        sa.Column("machine_uuid", sa.Text()),
        sa.Column("enrolled_at", sa.Float(), nullable=False),
        sa.Column("enrolled_by", sa.Text(), nullable=False),
        sa.Column("inspected_at", sa.Float(), nullable=False),
        sa.Column("facts", sa.Text(), nullable=False),
        sa.Column("bundle", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_host")),
    )
    op.create_index("uq_host_machine_uuid", "host", ["machine_uuid"], unique=True)
    op.create_index(
        "uq_host_controller", "host", ["controller_host", "controller_port"], unique=True
    )
