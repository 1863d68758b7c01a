"""`why`: why the instance is as it is, and what failed last."""

from collections.abc import Iterator

from cloudstack_ext.actions import words
from cloudstack_ext.actions.asked import Asked, Row, item
from provisioner.ports.tenant_desk import Story
from provisioner.servers.operation import Status


async def why(asked: Asked) -> tuple[Row, ...]:
    """State and last failure; what else there is the operators find by the operation's id."""
    return tuple(rows_of(await asked.desk.story(asked.key)))


def rows_of(story: Story) -> Iterator[Row]:
    """As the tenant reads it."""
    yield item("state", words.situation(story.view))
    yield item("power", words.power(story.view))
    newest = story.newest
    if story.view.rescue and newest is not None and newest.host_key:
        yield item("host key", newest.host_key)
    if newest is not None and newest.operation.status is Status.OPEN:
        yield item("going on", f"{words.kind(newest.operation)}, {words.stage(newest)}")
        yield item("its operation", newest.operation.id)
    failed = [each for each in story.operations if each.status in words.FAILURES]
    if not failed:
        yield item("last failure", "none is remembered")
        return
    last = failed[0]
    code, sentence = words.failure(last)
    yield item("last failure", str(code))
    yield item("what it means", sentence)
    yield item("it failed in", words.kind(last))
    yield item("failed at", words.moment(last.ended_at))
    yield item("operation", last.id)
    later = story.operations[: story.operations.index(last)]
    done = next((each for each in later if each.status is Status.DONE), None)
    if done is not None:
        yield item("done since then", f"{words.kind(done)}, {words.moment(done.ended_at)}")
