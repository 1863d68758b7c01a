"""New baselines that no evidence has named yet."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """There was none so far."""
    column = sa.Column(
        "rebaselines", sa.JSON(none_as_null=True), nullable=False, server_default="[]"
    )
    op.add_column("server", column)
