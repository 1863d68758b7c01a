"""Bringing a database to this program's schema; Alembic is imported only when it is not."""

from pathlib import Path

import sqlalchemy as sa

from provisioner.errors import ErrorCode, OperatorError
from provisioner.store import guards
from provisioner.store.engine import translated

REVISION = "0012"
"""The newest migration in migrations/versions."""
MIGRATIONS = Path(__file__).with_name("migrations")


def bring_up(engine: sa.Engine) -> None:
    """Migrate where the revision differs, and let the guards stand; one transaction.

    Raises:
        OperatorError: DATABASE_FAILED: a newer program has written this database.
    """
    with translated(), engine.begin() as connection:
        found = _revision(connection)
        if found is not None and found > REVISION:
            raise OperatorError(
                ErrorCode.DATABASE_FAILED,
                f"the database has revision {found}, this program knows {REVISION}: update it",
            )
        if found != REVISION:
            _migrate(connection)
        guards.stand(connection)


def _revision(connection: sa.Connection) -> str | None:
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    found: str | None = connection.scalar(sa.text("SELECT version_num FROM alembic_version"))
    return found


def _migrate(connection: sa.Connection) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    command.upgrade(config, "head")
