"""What `status` says: one table, first match wins. Pure; docs/status.md is generated from it.

PowerUnknown is the answer that costs nothing: CloudStack keeps what it knows. PowerOff at the
wrong moment makes it send `stop`; PowerOn at the wrong moment makes it take a stopped instance
for running.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from provisioner.servers.allocation import InstanceView, Phase
from provisioner.servers.model import Power


class PowerState(StrEnum):
    """The words that CloudStack reads; anything else is unknown to it."""

    ON = "PowerOn"
    OFF = "PowerOff"
    UNKNOWN = "PowerUnknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row of the table.

    Attributes:
        situation: For people; stands in docs/status.md.
        holds: Whether a view is in it; rows above have said no.
        alarm: Somebody must look.
    """

    situation: str
    holds: Callable[[InstanceView], bool]
    says: PowerState
    alarm: bool = False


def _active(view: InstanceView, wanted: Power) -> bool:
    return view.phase is Phase.ACTIVE and view.wanted is wanted


TABLE: tuple[Row, ...] = (
    Row(
        situation="the service is held (an old or copied database)",
        holds=lambda view: view.held,
        says=PowerState.UNKNOWN,
    ),
    Row(
        situation="instance never heard of",
        holds=lambda view: view.phase is None,
        says=PowerState.UNKNOWN,
    ),
    Row(
        situation="allocation ended, released or failed after a success answer: "
        "off was confirmed once since it ended (also while the wipe boots the server)",
        holds=lambda view: (
            view.phase is Phase.ENDED
            and view.off_confirmed
            and (view.known_to_caller or not view.failed)
        ),
        says=PowerState.OFF,
    ),
    Row(
        situation="allocation ended, anything else",
        holds=lambda view: view.phase is Phase.ENDED,
        says=PowerState.UNKNOWN,
    ),
    Row(
        situation="quarantined with a living allocation",
        holds=lambda view: view.quarantined,
        says=PowerState.UNKNOWN,
    ),
    Row(
        situation="reserved, or deploying and create not yet answered with success",
        holds=lambda view: (
            view.phase is Phase.RESERVED
            or (view.phase is Phase.DEPLOYING and not view.known_to_caller)
        ),
        says=PowerState.UNKNOWN,
    ),
    Row(
        situation="deploying after any success answer, wanted on",
        holds=lambda view: view.phase is Phase.DEPLOYING and view.wanted is Power.ON,
        says=PowerState.ON,
    ),
    Row(
        situation="a power command is in progress, or a reinstall, reseed or rescue",
        holds=lambda view: view.commanding,
        says=PowerState.UNKNOWN,
    ),
    Row(
        situation="a rescue system runs; off is not confirmed as below",
        holds=lambda view: (
            view.rescue
            and view.known_to_caller
            and _active(view, Power.ON)
            and not (view.fresh and view.off_confirmed)
        ),
        says=PowerState.ON,
    ),
    Row(
        situation="the controller is silent, or its last reading is too old",
        holds=lambda view: not view.fresh,
        says=PowerState.UNKNOWN,
    ),
    Row(
        situation="active, wanted on, confirmed on",
        holds=lambda view: _active(view, Power.ON) and view.on_confirmed,
        says=PowerState.ON,
    ),
    Row(
        situation="active, wanted on, off confirmed by at least 3 readings over at least 30 s, "
        "all newer than the last command",
        holds=lambda view: _active(view, Power.ON) and view.off_confirmed,
        says=PowerState.OFF,
    ),
    Row(
        situation="active, wanted off, seen on (by hand, mains): PowerOn would make CloudStack "
        "take it for running, without its network",
        holds=lambda view: _active(view, Power.OFF) and view.on_confirmed,
        says=PowerState.UNKNOWN,
        alarm=True,
    ),
    Row(
        situation="active, wanted off, off confirmed by as many readings over as long a time",
        holds=lambda view: _active(view, Power.OFF) and view.off_confirmed,
        says=PowerState.OFF,
    ),
    Row(
        situation="everything not listed",
        holds=lambda _: True,
        says=PowerState.UNKNOWN,
    ),
)


def row_of(view: InstanceView) -> Row:
    """The first row that holds; the last one always does."""
    return next(row for row in TABLE if row.holds(view))


def power_state(view: InstanceView) -> PowerState:
    """The answer of `status`."""
    return row_of(view).says


def status_page() -> str:
    """docs/status.md, which is written from here and never by hand."""
    rows = "\n".join(
        f"| {row.situation} | {row.says}{' and an alarm' if row.alarm else ''} |" for row in TABLE
    )
    return f"""# What `status` says

Generated from `cloudstack_ext/power_view.py`; a test compares. The first row that holds gives
the answer. It comes from what the service remembers: no controller is asked, and the entry
point says PowerUnknown by itself while the service is away.

`statuses`, which later releases of CloudStack ask of a whole host at once, answers every instance
whose last create or start named this host (detail `host` of the CloudStack host) by the same
table, and fails where one could be missing: CloudStack takes a missing one for stopped, and after
a failure asks one by one.

| situation | answer |
|---|---|
{rows}
"""
