"""Databases of tests without what only a real one needs: its own statements, and its disk."""

import sqlalchemy as sa

DIALECTS, COMPILED = {}, {}
"""Statements are the same in every database; they are found by their dialect, so it is too."""


def fast(database):
    """Nobody pulls the plug of a test: no wait for the disk, no statement compiled twice."""
    for engine in (database.engine, database.servers._transactions._reader):
        engine.dialect = DIALECTS.setdefault(engine.name, engine.dialect)
        engine.update_execution_options(compiled_cache=COMPILED)
    with database.engine.connect() as connection:  # the one that the pool has by now
        _careless(connection.connection.dbapi_connection, None)
    sa.event.listen(database.engine, "connect", _careless)
    return database


def _careless(connection, _record):
    connection.execute("PRAGMA synchronous=OFF")
