"""What sites hold for us."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """A table as tables.py has it."""
    op.create_table(
        "registered",
        sa.Column("number", sa.Integer(), primary_key=True),
        sa.Column("site", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("outside_id", sa.Text()),
        sa.Column("facts", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("retired", sa.Boolean(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.CheckConstraint("NOT retired OR outside_id IS NOT NULL", name="retired_was_made"),
        sa.CheckConstraint("retired IN (0, 1)", name="retired"),
    )
    op.create_index(
        "uq_registered_name",
        "registered",
        ["site", "kind", "name"],
        unique=True,
        sqlite_where=sa.text("retired = 0"),
    )
    op.create_index(
        "uq_registered_outside_id",
        "registered",
        ["site", "kind", "outside_id"],
        unique=True,
    )
