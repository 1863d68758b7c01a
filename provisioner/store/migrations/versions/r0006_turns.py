"""Turns of wipes, and whether an instance is protected."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Releases that are open go on by the list they began with, which waits for nobody."""
    protection = sa.Column("protection", sa.Text(), nullable=False, server_default="not asked")
    op.add_column("allocation", protection)
    op.create_table(
        "turn",
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("operation", sa.Text, nullable=False),
        sa.Column("server", sa.Text, nullable=False),
        sa.Column("pool", sa.Text, nullable=False),
        *(
            sa.Column(name, sa.Boolean(create_constraint=True, name=name), nullable=False)
            for name in ("counted", "held")
        ),
        sa.Column("asked_at", sa.Float),
        sa.Column("waits_for", sa.Text, nullable=False),
        sa.Column("let_go_by", sa.Text, nullable=False),
        sa.Column("begun_at", sa.Float),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_turn")),
        sa.UniqueConstraint("operation", name=op.f("uq_turn_operation")),
        sa.ForeignKeyConstraint(["operation"], ["operation.id"], name=op.f("fk_turn_operation")),
        sa.ForeignKeyConstraint(["server"], ["server.name"], name=op.f("fk_turn_server")),
        sa.CheckConstraint(
            "begun_at IS NULL OR waits_for = ''", name=op.f("ck_turn_begun_waits_no_more")
        ),
    )
    op.create_index("ix_turn_pool", "turn", ["pool", "begun_at"])
