"""`rescue`: a RAM system with sshd, in the instance's networks, for whoever has its keys."""

from cloudstack_ext.actions.asked import Asked, Row, item
from cloudstack_ext.actions.begun import changes_of, rows_of, running


async def rescue(asked: Asked) -> tuple[Row, ...]:
    """Begin it, or attach to one that goes on; one that runs is shown as it is."""
    running(asked)
    walk = await changes_of(asked).rescue(asked.request.instance, until=asked.until)
    key = walk.host_key or "not known yet: ask for progress"
    return (*rows_of("rescue", walk), item("host key", key))
