"""Each difference between CloudStack and us, with its cause and its remedy. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum

from cloudstack_ext.reconcile.views import Cloud, CloudInstance, Ours, Union
from provisioner.ports.differences import Act, Finding
from provisioner.servers.allocation import Phase
from provisioner.servers.model import Power

RUNS = frozenset({"Running", "Starting", "Stopping", "Migrating"})
"""States in which CloudStack counts on a machine."""


class Difference(StrEnum):
    """What differs."""

    CLAIMED_UNKNOWN = "claimed-unknown-to-cloudstack"
    RUNNING_RELEASED = "running-there-released-here"
    RUNNING_UNKNOWN = "running-there-never-heard-of-here"
    RUNNING_OFF = "running-there-off-here"
    STOPPED_ON = "stopped-there-on-here"
    OWNER = "owner-changed"
    NAME = "name-changed"
    HOST = "host-changed"
    OFFERING = "offering-changed"
    HOST_REMOVED = "host-removed"
    ADDRESS_IN_USE = "address-possibly-in-use"


def compare(cloud: Cloud, ours: Iterable[Ours], sizes: Mapping[str, str]) -> tuple[Finding, ...]:
    """All differences, by instance; none without a union that is believed.

    Args:
        cloud: What CloudStack shows.
        ours: Of this site, all that was ever heard of.
        sizes: Name of each registered offering, by id.
    """
    if cloud.union is None:
        return ()
    union, here = cloud.union, {each.allocation.key.instance: each for each in ours}
    found: list[Finding] = []
    for instance, row in union.instances.items():
        if instance not in here and row.state in RUNS and row.host:
            found.append(_running_unknown(row))
    for instance, known in here.items():
        there = union.instances.get(instance)
        if there is None:
            found.extend(_not_there(known, is_absent=cloud.is_absent(instance)))
        else:
            found.extend(_both(there, known, union, sizes))
    return tuple(sorted(found, key=lambda each: (each.instance, each.kind)))


def _both(
    there: CloudInstance, known: Ours, union: Union, sizes: Mapping[str, str]
) -> Iterator[Finding]:
    allocation = known.allocation
    if allocation.phase is Phase.ENDED:
        if there.state in RUNS:
            yield _finding(
                Difference.RUNNING_RELEASED,
                there,
                known,
                cause="its server was given back, or its installation failed after a success",
                remedy="stop the instance in CloudStack; deploy a new one",
            )
        return
    if allocation.phase is not Phase.ACTIVE:
        return
    yield from _power(there, known)
    yield from _words(there, known)
    size = sizes.get(there.offering, there.offering)
    if allocation.size not in {"", size}:
        yield _finding(
            Difference.OFFERING,
            there,
            known,
            there_says=size,
            here_says=allocation.size,
            cause="its offering was changed while it was stopped; its server was not",
            remedy="change the offering back: a start is refused until then",
        )
    if allocation.host and allocation.host not in union.hosts:
        yield _finding(
            Difference.HOST_REMOVED,
            there,
            known,
            there_says="no such host",
            here_says=allocation.host,
            cause="the host of its pool was deleted",
            remedy="`rackwright cloudstack apply` makes it again; until then its verbs fail",
        )


def _power(there: CloudInstance, known: Ours) -> Iterator[Finding]:
    view = known.view
    if view.commanding or not view.fresh or view.quarantined:
        return
    if there.state == "Stopped" and view.wanted is Power.OFF and view.on_confirmed:
        yield _finding(
            Difference.STOPPED_ON,
            there,
            known,
            here_says="on",
            cause="a stop that CloudStack believes done: a forced one failed, or somebody "
            "switched the server on by hand",
            act=Act.POWER_OFF,
        )
    if there.state == "Running" and view.off_confirmed:
        yield _finding(
            Difference.RUNNING_OFF,
            there,
            known,
            here_says="off",
            cause="it went off by itself, and CloudStack has not taken the report",
            remedy="stop it in CloudStack, then start it",
        )


def _words(there: CloudInstance, known: Ours) -> Iterator[Finding]:
    allocation = known.allocation
    pairs: Sequence[tuple[Difference, str, str, str]] = (
        (Difference.OWNER, there.owner, allocation.owner, "it was given to another account"),
        (Difference.NAME, there.name, allocation.name, "CloudStack calls it otherwise now"),
        (Difference.HOST, there.host, allocation.host, "it runs at another host now"),
    )
    for kind, new, old, cause in pairs:
        if new and old and new != old:
            yield _finding(
                kind, there, known, there_says=new, here_says=old, cause=cause, act=Act.REMEMBER
            )


def _not_there(known: Ours, *, is_absent: bool) -> Iterator[Finding]:
    allocation = known.allocation
    if allocation.phase is not Phase.ENDED:
        if is_absent:
            yield _ours_alone(
                Difference.CLAIMED_UNKNOWN,
                known,
                here=f"{allocation.phase} on {allocation.server}",
                cause="expunged without a `delete`, or CloudStack's database is an older one",
                remedy="`rackwright reconcile apply` releases and wipes its server",
                act=Act.RELEASE,
            )
    elif known.is_deleted:
        yield _ours_alone(
            Difference.ADDRESS_IN_USE,
            known,
            here="deleted, not seen off since",
            cause="its server could not be fenced when it was deleted",
            remedy="make sure by hand that it is off, then `rackwright server provide` it",
            act=Act.TELL,
        )


def _ours_alone(
    kind: Difference, known: Ours, *, here: str, cause: str, remedy: str, act: Act
) -> Finding:
    allocation = known.allocation
    return Finding(
        kind=kind,
        instance=allocation.key.instance,
        name=allocation.name,
        server=allocation.server,
        there="not shown",
        here=here,
        cause=cause,
        remedy=remedy,
        act=act,
    )


def _running_unknown(row: CloudInstance) -> Finding:
    return Finding(
        kind=Difference.RUNNING_UNKNOWN,
        instance=row.instance,
        name=row.name,
        server=None,
        there=f"{row.state} at {row.host}",
        here="never heard of",
        cause="this database is an older one, or the instance was made behind our back",
        remedy="`rackwright server adopt` binds its server, or stop it in CloudStack",
        act=Act.TELL,
    )


def _finding(
    kind: Difference,
    there: CloudInstance,
    known: Ours,
    *,
    cause: str,
    remedy: str = "",
    there_says: str | None = None,
    here_says: str | None = None,
    act: Act = Act.TELL,
) -> Finding:
    allocation = known.allocation
    return Finding(
        kind=kind,
        instance=allocation.key.instance,
        name=allocation.name,
        server=allocation.server,
        there=there.state if there_says is None else there_says,
        here=str(allocation.phase) if here_says is None else here_says,
        cause=cause,
        remedy=remedy,
        act=act,
    )
