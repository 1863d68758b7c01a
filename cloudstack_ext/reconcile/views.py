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
"""An instance is absent when it was missing from so many unions over so long a time."""
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
class Cloud:
    """What is known of one CloudStack after some unions.

    Attributes:
        union: The newest that is believed; None: none yet.
        missing: By instance.
        doubt: Why the newest answer is not believed; "" where it is.
    """

    union: Union | None = None
    missing: Mapping[InstanceId, Missing] = field(default_factory=dict)
    doubt: str = ""

    def lost(self, union: Union, living: Iterable[InstanceId]) -> frozenset[InstanceId]:
        """What this union should show and does not, by the one before.

        Args:
            union: The new one.
            living: Instances that have a server here: what the first union after a start should
                show.
        """
        if self.union is None:
            return frozenset(living) - union.instances.keys()
        rows = self.union.instances.values()
        stays = frozenset(row.instance for row in rows if row.state not in GOES)
        return stays - union.instances.keys()

    def after(
        self,
        union: Union,
        known: Iterable[InstanceId],
        living: Collection[InstanceId],
        deleted: Collection[InstanceId],
    ) -> "Cloud":
        """One union later.

        A union that is not believed changes nothing but the doubt: what was missing before is no
        more missing by it, and its gaps count for nothing.

        Args:
            union: The new one.
            known: Instances that were heard of here.
            living: Those of them that have a server here.
            deleted: Of which CloudStack asked for the end: they may be gone.
        """
        doubt = self._doubt(union, living, deleted)
        if doubt:
            return replace(self, doubt=doubt)
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

    def _doubt(
        self, union: Union, living: Collection[InstanceId], deleted: Collection[InstanceId]
    ) -> str:
        if not union.sees_ours:
            return "it does not show our extension and every host of ours: is this the key?"
        lost = len(self.lost(union, living) - frozenset(deleted))
        before = len(living if self.union is None else self.union.instances)
        if lost > max(1, LOST_SHARE * before):
            return f"{lost} of {before} instances are gone at once"
        return ""


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
