"""`reseed`: user data, keys and addresses handed out anew, without reimaging."""

from cloudstack_ext.actions.asked import Asked, Row
from cloudstack_ext.actions.begun import Certifying, changes_of, ends, rows_of

NEEDED = "user data comes from CloudStack's API, and the service has no key of this site"
"""A payload of an action has none: without the API its system would lose what it has."""


async def reseed(asked: Asked) -> tuple[Row, ...]:
    """Begin it, or attach to one that goes on."""
    walk = await changes_of(asked).reseed(
        asked.request.instance,
        ends=ends(asked),
        certify=Certifying(asked=asked, needed=NEEDED),
        until=asked.until,
    )
    return tuple(rows_of("reseed", walk))
