"""Media that only a server's controller names, as its inspection found them."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """No inspection so far has asked."""
    column = sa.Column(
        "hidden_media", sa.JSON(none_as_null=True), nullable=False, server_default="[]"
    )
    op.add_column("server", column)
