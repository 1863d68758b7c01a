"""Which free server an instance gets, and why none where there is none that fits."""

from collections.abc import Mapping

import sqlalchemy as sa

from provisioner.errors import ErrorCode, InputError, RackwrightError, TransientError
from provisioner.ports.allocations import WhyUnfit, fits_always
from provisioner.servers.allocation import InstanceRequest
from provisioner.servers.model import State
from provisioner.store import moves, rows
from provisioner.store.tables.catalogue import POOL
from provisioner.store.tables.servers import SERVER
from provisioner.units import PoolName, ServerName

MOST_NAMED = 10
"""Of servers that do not fit: a refusal is one line."""


def take_fitting(
    connection: sa.Connection,
    request: InstanceRequest,
    during: State,
    why_unfit: WhyUnfit = fits_always,
) -> ServerName:
    """Move the first free server of the pool by name that fits.

    Raises:
        InputError: POOL_MISSING, POOL_UNKNOWN; or no server of the pool fits.
        TransientError: NO_CAPACITY.
    """
    if request.pool is None:
        raise InputError(ErrorCode.POOL_MISSING, "no pool is named for this instance")
    unfit: dict[ServerName, InputError] = {}
    while name := moves.first_free(connection, request.pool, unfit.keys()):
        why = why_unfit(rows.server(connection, name))
        if why is not None:
            unfit[name] = why
        elif moves.take(connection, request.pool, during, only=name) is not None:
            return name
    if unfit:
        raise _none_fits(connection, request.pool, unfit)
    if connection.scalar(sa.select(POOL.c.name).where(POOL.c.name == request.pool)) is None:
        raise InputError(ErrorCode.POOL_UNKNOWN, f"there is no pool {request.pool}")
    raise TransientError(ErrorCode.NO_CAPACITY, f"pool {request.pool} has no free server")


def _none_fits(
    connection: sa.Connection, pool: PoolName, unfit: Mapping[ServerName, InputError]
) -> RackwrightError:
    """Why each free one does not; the pool's others may, once they are free."""
    all_of_them = sa.select(sa.func.count()).where(
        SERVER.c.pool == pool, SERVER.c.state != State.RETIRED.value
    )
    why = "; ".join(f"{name}: {error}" for name, error in [*unfit.items()][:MOST_NAMED])
    more = f"; and {len(unfit) - MOST_NAMED} more" if len(unfit) > MOST_NAMED else ""
    if (connection.scalar(all_of_them) or 0) > len(unfit):
        text = f"pool {pool} has no free server that fits: {why}{more}"
        return TransientError(ErrorCode.NO_CAPACITY, text)
    code = next(iter(unfit.values())).code
    return InputError(code, f"no server of pool {pool} fits: {why}{more}")
