"""The host at which a CloudStack sees an instance."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Not known of the instances so far: their next create or start says it."""
    column = sa.Column("host", sa.Text(), nullable=False, server_default="")
    op.add_column("allocation", column)
