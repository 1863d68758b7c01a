"""Of which failures an instance's owner was told."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Of none so far."""
    op.create_table(
        "failure_note",
        sa.Column("operation", sa.Text(), nullable=False),
        sa.Column("outside_id", sa.Text(), nullable=False),
        sa.Column("left_at", sa.Float(), nullable=False),
        sa.Column("taken_back_at", sa.Float()),
        sa.ForeignKeyConstraint(
            ["operation"], ["operation.id"], name=op.f("fk_failure_note_operation")
        ),
        sa.PrimaryKeyConstraint("operation", name=op.f("pk_failure_note")),
    )
