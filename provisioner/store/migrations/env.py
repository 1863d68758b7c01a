"""What Alembic runs: our migrations on the connection, and in the transaction, it was given."""

from alembic import context

from provisioner.store.tables import META

context.configure(connection=context.config.attributes["connection"], target_metadata=META)
with context.begin_transaction():
    context.run_migrations()
