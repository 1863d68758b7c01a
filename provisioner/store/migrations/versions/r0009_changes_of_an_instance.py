"""What a reinstall, a reseed or a rescue leaves behind, and the host name of a seed."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """There was none so far; the host names that were are not known."""
    for name in ("needs_reinstall", "off_first"):
        flag: sa.Column[bool] = sa.Column(name, sa.Boolean(), nullable=False, server_default="0")
        op.add_column("allocation", flag)
    column = sa.Column("hostname", sa.Text(), nullable=False, server_default="")
    op.add_column("allocation", column)
