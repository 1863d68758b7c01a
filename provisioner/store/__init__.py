"""Everything that must outlive the process; the only place of SQLAlchemy and Alembic."""
