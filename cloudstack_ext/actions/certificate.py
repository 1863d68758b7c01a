"""`certificate`: the signed statement of the wipe before this tenancy."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from cloudstack_ext.actions.asked import Asked, Row, item

VERIFY = "save the statement in a file: rackwright evidence verify FILE --key evidence.pub"


async def certificate(asked: Asked) -> tuple[Row, ...]:
    """Its gist, and the whole of it in one row, since the UI shows nothing but rows."""
    return tuple(rows_of(await asked.desk.certificate(asked.key)))


def rows_of(statement: Mapping[str, Any]) -> Iterator[Row]:
    """As the tenant reads it."""
    document = statement["document"]
    disks = document["disks"]
    erased = sum(bool(disk["erased"]) for disk in disks)
    yield item("wiped, and read back until", document["times"]["verified"]["ended"])
    yield item("class", document["class"])
    yield item("disks", f"{erased} of {len(disks)} erased")
    yield item("not covered", f"{len(document['not_covered'])} lines, in the statement")
    yield item("to verify", VERIFY)
    yield item("statement", json.dumps(statement, separators=(",", ":")))
