"""`progress`: what goes on, which stage it has reached, how many bytes were moved."""

from collections.abc import Iterator

from cloudstack_ext.actions import words
from cloudstack_ext.actions.asked import Asked, Row, item
from provisioner.ports.tenant_desk import Walk
from provisioner.servers.operation import Status


async def progress(asked: Asked) -> tuple[Row, ...]:
    """Of the newest operation, whether it goes on or has ended."""
    return tuple(rows_of((await asked.desk.story(asked.key)).newest))


def rows_of(walk: Walk | None) -> Iterator[Row]:
    """As the tenant reads it."""
    if walk is None:
        yield item("operation", "none was begun for this instance yet")
        return
    operation = walk.operation
    yield item("operation", operation.id)
    yield item("what", words.kind(operation))
    yield item("state", words.ENDS[operation.status])
    yield item("stage", words.stage(walk))
    done, total = operation.progress_bytes
    if total:
        share = 100 * done // total
        yield item("written", f"{words.size(done)} of {words.size(total)} ({share} %)")
    if walk.host_key:
        yield item("host key", walk.host_key)
    yield item("begun", words.moment(operation.opened_at))
    if operation.status is not Status.OPEN:
        yield item("ended", words.moment(operation.ended_at))
