"""Our tables, a module a subject. A constraint has a name that says what must never happen.

What a CHECK or an index cannot say is a trigger in triggers/. Wall-clock times are REAL
seconds since 1970. Every table that tells a history is ordered by its `number`. Whoever
imports one table has them all, so that META is never a part of it.
"""

from provisioner.store.tables import (
    allocations,
    boots,
    catalogue,
    hosts,
    operations,
    records,
    servers,
    sites,
)
from provisioner.store.tables.columns import META

__all__ = [
    "META",
    "allocations",
    "boots",
    "catalogue",
    "hosts",
    "operations",
    "records",
    "servers",
    "sites",
]
