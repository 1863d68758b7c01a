"""Rounds over each CloudStack: look, compare, mend what is mended by itself, tell the rest."""

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial

from cloudstack_ext.reconcile.compare import Difference, compare
from cloudstack_ext.reconcile.views import Cloud, Ours, Union
from cloudstack_ext.registration.model import Kind
from provisioner.about import about
from provisioner.errors import ConflictError, ErrorCode, OperatorError, RackwrightError
from provisioner.operations.doors import Records
from provisioner.operations.view import view_of
from provisioner.ports.clock import Clock
from provisioner.ports.controllers import PowerAct
from provisioner.ports.differences import BY_ITSELF, Act, Finding, Report
from provisioner.ports.machines import Machines
from provisioner.ports.registered import Registered, RegisteredRow
from provisioner.servers.allocation import InstanceKey, InstanceRequest, Phase, Remembered
from provisioner.servers.model import Power
from provisioner.store.waiting import stored
from provisioner.units import InstanceId, MonotonicSeconds, Seconds, SiteName

log = logging.getLogger(__name__)

WHO = "reconcile"
ANSWER_S = 600.0
"""A stop has its own graceful time; a release is fenced within ten seconds."""
MARKS: Mapping[str, str] = {
    Difference.OWNER: "owner",
    Difference.NAME: "name",
    Difference.HOST: "host",
}

Look = Callable[[SiteName, tuple[RegisteredRow, ...]], Awaitable[Union | None]]
"""Asks one site for all its lists; None: this site is not asked."""


@dataclass(slots=True, kw_only=True)
class Reconciler:
    """For all sites of this service.

    Attributes:
        look: At one CloudStack.
        readings_s: How far back readings are looked at; `status` looks as far.
        too_old_s: A reading that is older says nothing.
        every: Between two rounds.
    """

    sites: tuple[SiteName, ...]
    look: Look
    records: Records
    registered: Registered
    machines: Machines
    clock: Clock
    readings_s: float
    too_old_s: float
    every: Seconds
    _clouds: dict[SiteName, Cloud] = field(default_factory=dict)
    _reports: dict[SiteName, Report] = field(default_factory=dict)

    async def run(self) -> None:
        """For as long as the service lives."""
        while True:
            for site in self.sites:
                await self.round(site)
            await self.clock.sleep(self.every)

    async def round(self, site: SiteName) -> Report:
        """One look at one site; what is mended by itself is mended, unless there is a doubt."""
        report = await self._look(site)
        for finding in report.findings:
            if finding.act in BY_ITSELF:
                # what was found before a doubt is told, and may be so no more
                if not report.doubt:
                    await self._mend(site, finding)
            else:
                log.warning("%s: %s", finding.kind, finding.cause, extra=_fields(finding))
        return report

    def reports(self) -> tuple[Report, ...]:
        """As each site stood at its last look."""
        return tuple(self._reports.get(site, Report(site=site)) for site in self.sites)

    def is_protected(self, key: InstanceKey) -> bool | None:
        """By the last complete list of its site, while that is young; asks nobody.

        Called from the listeners' thread: what it reads is replaced whole, never changed.
        """
        cloud = self._clouds.get(key.site, Cloud())
        return cloud.is_protected(key.instance, now=self.clock.monotonic())

    async def apply(self, identifier: str, who: str) -> Finding:
        """Look, and do what it waits for."""
        site, finding = await self.still(identifier)
        key = InstanceKey(site=site, instance=finding.instance)
        until = MonotonicSeconds(self.clock.monotonic() + ANSWER_S)
        await self.machines.release(key, f"{site}: {WHO} by {who}", until=until)
        return finding

    async def still(self, identifier: str) -> tuple[SiteName, Finding]:
        """One finding that waits for a person, if it is still so: CloudStack is asked anew.

        Raises:
            ConflictError: STATE_CONFLICT: it is not so any more, or nothing can be done about it.
            OperatorError: CANNOT_TELL: nobody can say whether it is still so.
        """
        for site in self.sites:
            if any(each.id == identifier for each in self._last(site).findings):
                return site, await self._still(site, identifier)
        raise ConflictError(ErrorCode.STATE_CONFLICT, f"there is no difference {identifier} (now)")

    async def _still(self, site: SiteName, identifier: str) -> Finding:
        report = await self._look(site)
        if report.doubt:
            raise OperatorError(ErrorCode.CANNOT_TELL, f"{site}: {report.doubt}")
        finding = next((each for each in report.findings if each.id == identifier), None)
        if finding is None:
            raise ConflictError(ErrorCode.STATE_CONFLICT, f"{identifier} is not so any more")
        if finding.act is not Act.RELEASE:
            text = f"{identifier} is not mended from here: {finding.remedy or finding.cause}"
            raise ConflictError(ErrorCode.STATE_CONFLICT, text)
        return finding

    def _last(self, site: SiteName) -> Report:
        return self._reports.get(site, Report(site=site))

    async def _look(self, site: SiteName) -> Report:
        report = await self._compared(site)
        self._reports[site] = report
        return report

    async def _compared(self, site: SiteName) -> Report:
        before, last = self._clouds.get(site, Cloud()), self._last(site)
        rows = await stored(self.registered.rows, site)
        try:
            union = await self.look(site, rows)
        except RackwrightError as error:
            # what was found before still stands; nothing new is concluded from silence
            return Report(site=site, at=last.at, doubt=str(error), findings=last.findings)
        if union is None:
            return Report(site=site)
        ours = await self._ours(site)
        known = [each.allocation.key.instance for each in ours]
        living = {
            each.allocation.key.instance
            for each in ours
            if each.allocation.phase is not Phase.ENDED
        }
        deleted = await self._deleted(site, before.lost(union, known, living))
        cloud = self._clouds[site] = before.after(union, known, living, deleted)
        sizes = {
            row.outside_id: row.name
            for row in rows
            if row.kind == Kind.OFFERING.value and row.outside_id
        }
        found = last.findings if cloud.doubt else compare(cloud, ours, sizes)
        return Report(site=site, at=union.at, doubt=cloud.doubt, findings=found)

    async def _deleted(
        self, site: SiteName, instances: Iterable[InstanceId]
    ) -> frozenset[InstanceId]:
        """Those whose end CloudStack asked for; of most nothing is kept but that."""
        is_deleted = self.records.allocations.is_deleted
        keys = [InstanceKey(site=site, instance=each) for each in instances]
        return frozenset([key.instance for key in keys if await stored(is_deleted, key)])

    async def _ours(self, site: SiteName) -> list[Ours]:
        since = MonotonicSeconds(self.clock.monotonic() - self.readings_s)
        observations = self.records.observations
        known = await stored(observations.of_site, site, since)
        unfenced = await stored(observations.unfenced, site)
        return [
            *(self._as_seen(each, is_deleted=False) for each in known),
            *(self._as_seen(each, is_deleted=True) for each in unfenced),
        ]

    def _as_seen(self, known: Remembered, *, is_deleted: bool) -> Ours:
        now = self.clock.monotonic()
        view = view_of(known, held=False, now=now, too_old_s=self.too_old_s)
        return Ours(allocation=known.allocation, view=view, is_deleted=is_deleted)

    async def _mend(self, site: SiteName, finding: Finding) -> None:
        with about(site=site, instance=finding.instance, server=finding.server):
            try:
                if finding.act is Act.REMEMBER:
                    await self._remember(site, finding)
                else:
                    await self._power_off(site, finding.instance)
            except RackwrightError as error:
                log.warning("%s is not mended: %s", finding.kind, error)
            else:
                log.info("mended: %s, %s", finding.kind, finding.cause)

    async def _remember(self, site: SiteName, finding: Finding) -> None:
        key = InstanceKey(site=site, instance=finding.instance)
        allocation = await stored(self.records.allocations.allocation, key)
        if allocation is not None:
            said = {MARKS[finding.kind]: finding.there}
            await stored(partial(self.records.allocations.mark, allocation.id, **said))

    async def _power_off(self, site: SiteName, instance: InstanceId) -> None:
        key = InstanceKey(site=site, instance=instance)
        view = await self.machines.observe(key)
        if view.commanding or view.wanted is not Power.OFF:
            return  # somebody has started it since CloudStack was asked
        request = InstanceRequest(key=key, name="", who=f"{site}: {WHO}")
        until = MonotonicSeconds(self.clock.monotonic() + ANSWER_S)
        await self.machines.power(request, PowerAct.OFF, until=until)


def _fields(finding: Finding) -> dict[str, object]:
    return {"instance": finding.instance, "server": finding.server}
