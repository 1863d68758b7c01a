"""What is compared: one CloudStack as its lists show it, and what is remembered here. Pure."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from provisioner.servers.allocation import Allocation, InstanceView
from provisioner.units import InstanceId, MonotonicSeconds

LOST_SHARE = 0.1
"""A list that has lost more at once is not believed: a key, a domain or a filter may have."""
GOES = frozenset({"Error", "Destroyed", "Expunging"})
"""What is in such a state is gone soon, and `delete` is not sent for each of them."""
ABSENT_UNIONS, ABSENT_S = 3, 900.0
"""An instance is absent when it was missing from so many unions over so long a time.

So long a loss that is too great must stand, too, until it is believed.
"""
BLIND = "it does not show our extension and every host of ours: is this the key?"
LIST_YOUNG_S = 600.0
"""So old the last list may be whose word a `delete` takes while the API is silent: two rounds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudInstance:
    """One row of listVirtualMachines.

    Attributes:
        name: The internal one, "i-7-57-VM".
        offering: Its id.
        state: "Running", "Stopped", ...
        host: Where it is or last was; "" where it never ran.
        is_protected: Whether it may be deleted; None where this CloudStack does not say.
    """

    instance: InstanceId
    name: str
    owner: str
    offering: str
    state: str
    host: str = ""
    is_protected: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Union:
    """Two complete lists, with and without the instances that are not shown, as one.

    Attributes:
        at: When the first of them was asked for.
        hosts: Labels of all hosts that the key sees.
        sees_ours: Our own extension and each registered host are seen: the key sees our world.
    """

    at: MonotonicSeconds
    instances: Mapping[InstanceId, CloudInstance]
    hosts: frozenset[str]
    sees_ours: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """An instance of ours that a union lacked.

    Attributes:
        since: Of the first union that lacked it.
        times: Unions in a row that did.
    """

    since: MonotonicSeconds
    times: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """More than a list may lose at once, the same in each union in a row.

    Attributes:
        since: Of the first union that showed it.
    """

    instances: frozenset[InstanceId]
    since: MonotonicSeconds
    times: int

    def stands(self, at: MonotonicSeconds) -> bool:
        """Seen for long enough: it is so, and no slip of a key or a filter."""
        return self.times >= ABSENT_UNIONS and at - self.since >= ABSENT_S


@dataclass(frozen=True, slots=True, kw_only=True)
class Cloud:
    """What is known of one CloudStack after some unions.

    Attributes:
        union: The newest that is believed; None: none yet.
        missing: By instance.
        doubt: Why the newest answer is not believed; "" where it is.
        loss: What the doubted unions in a row have lost; None where that is no reason.
    """

    union: Union | None = None
    missing: Mapping[InstanceId, Missing] = field(default_factory=dict)
    doubt: str = ""
    loss: Loss | None = None

    def lost(
        self, union: Union, known: Iterable[InstanceId], living: Iterable[InstanceId]
    ) -> frozenset[InstanceId]:
        """What this union should show and does not, by the one before.

        What was never heard of here is no loss: no `delete` comes for it when it is gone.

        Args:
            union: The new one.
            known: Instances that were heard of here.
            living: Instances that have a server here: what the first union after a start should
                show.
        """
        if self.union is None:
            return frozenset(living) - union.instances.keys()
        rows = self.union.instances.values()
        stays = frozenset(row.instance for row in rows if row.state not in GOES)
        return (stays & frozenset(known)) - union.instances.keys()

    def after(
        self,
        union: Union,
        known: Collection[InstanceId],
        living: Collection[InstanceId],
        deleted: Collection[InstanceId],
    ) -> "Cloud":
        """One union later.

        A union that is not believed changes nothing but the doubt: what was missing before is no
        more missing by it, and its gaps count for nothing. A loss that stands becomes the new
        base, and only then begins to be counted as missing.

        Args:
            union: The new one.
            known: Instances that were heard of here.
            living: Those of them that have a server here.
            deleted: Of which CloudStack asked for the end: they may be gone.
        """
        if not union.sees_ours:
            return replace(self, doubt=BLIND, loss=None)
        lost = self.lost(union, known, living) - frozenset(deleted)
        counted = len(self._counted(known, living))
        if len(lost) > max(1, LOST_SHARE * counted):
            loss = self._again(lost, union.at)
            if not union.instances or not loss.stands(union.at):
                text = f"{len(lost)} of {counted} instances are gone at once"
                return replace(self, doubt=text, loss=loss)
        missing = {}
        for instance in known:
            if instance not in union.instances:
                before = self.missing.get(instance, Missing(since=union.at, times=0))
                missing[instance] = replace(before, times=before.times + 1)
        return Cloud(union=union, missing=missing)

    def is_absent(self, instance: InstanceId) -> bool:
        """Missing for long enough; an empty answer alone is no absence."""
        missing = self.missing.get(instance)
        return (
            self.union is not None
            and missing is not None
            and missing.times >= ABSENT_UNIONS
            and self.union.at - missing.since >= ABSENT_S
        )

    def is_protected(self, instance: InstanceId, *, now: MonotonicSeconds) -> bool | None:
        """By the newest union that is believed; None: it is too old, or does not say."""
        if self.union is None or now - self.union.at > LIST_YOUNG_S:
            return None
        row = self.union.instances.get(instance)
        return None if row is None else row.is_protected

    def _counted(
        self, known: Iterable[InstanceId], living: Iterable[InstanceId]
    ) -> frozenset[InstanceId]:
        """Of how many a loss is a share."""
        if self.union is None:
            return frozenset(living)
        return frozenset(known).intersection(self.union.instances)

    def _again(self, lost: frozenset[InstanceId], at: MonotonicSeconds) -> Loss:
        if self.loss is None or self.loss.instances != lost:
            return Loss(instances=lost, since=at, times=1)
        return replace(self.loss, times=self.loss.times + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ours:
    """One instance as it is remembered here.

    Attributes:
        allocation: The living one, else the newest ended one.
        view: As `status` looks at it.
        is_deleted: CloudStack asked for its end.
    """

    allocation: Allocation
    view: InstanceView
    is_deleted: bool = False
