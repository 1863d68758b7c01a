"""Whose an instance is and what was bought, and the key by which a site is asked for it."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Of the instances so far nothing was asked."""
    for name in ("owner", "size"):
        op.add_column("allocation", sa.Column(name, sa.Text(), nullable=False, server_default=""))
    op.create_table(
        "site_key",
        sa.Column("site", sa.Text(), nullable=False),
        sa.Column("endpoint", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("secret", sa.Text(), nullable=False),
        sa.Column("ca", sa.Text(), nullable=False),
        sa.Column("changed_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("site", name=op.f("pk_site_key")),
    )
