"""`reinstall`: the root disk written anew, with the image that it has or another one."""

from cloudstack_ext.actions.asked import Asked, Row, item
from cloudstack_ext.actions.begun import Certifying, changes_of, ends, rows_of
from cloudstack_ext.actions.power_cycle import confirmed

NO_USER_DATA = "none: it comes from CloudStack's API, and the service has no key of this site"


async def reinstall(asked: Asked) -> tuple[Row, ...]:
    """Begin it, or attach to the same that goes on."""
    ending = ends(asked)
    await confirmed(asked)
    certify = Certifying(asked=asked, image=asked.request.parameters.get("image"))
    walk = await changes_of(asked).reinstall(
        asked.request.instance, ends=ending, certify=certify, until=asked.until
    )
    rows = tuple(rows_of("reinstall", walk))
    return (*rows, item("user data", NO_USER_DATA)) if certify.nobody_asked else rows
