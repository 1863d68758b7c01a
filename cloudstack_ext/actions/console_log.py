"""`console-log`: the end of the serial console, as it was kept."""

from cloudstack_ext.actions.asked import Asked, Row

MOST_LINES = 60
MOST_CHARACTERS = 200
"""Of a line: 60 of them stay below half of what an answer may hold."""


async def console_log(asked: Asked) -> tuple[Row, ...]:
    """The last lines; the console of an operation is kept from its first power-on."""
    console = await asked.desk.console(asked.key, MOST_LINES)
    if not console.lines:
        return ({"line": "0", "console": "no console of this instance was kept"},)
    return tuple(
        {"line": str(number), "console": line[:MOST_CHARACTERS]}
        for number, line in enumerate(console.lines, start=1)
    )
