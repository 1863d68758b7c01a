"""Composition of the reconcile loop: a client of its own for each site that has a key."""

from dataclasses import dataclass, field

from cloudstack_ext.client import CloudStackClient
from cloudstack_ext.main_truth import client_of
from cloudstack_ext.reconcile.lists import read_union
from cloudstack_ext.reconcile.loop import Reconciler
from cloudstack_ext.reconcile.views import Union
from provisioner.config import Settings
from provisioner.operations.doors import Records
from provisioner.operations.machines import BareMetal
from provisioner.operations.observing import READINGS_OF
from provisioner.ports.clock import Clock
from provisioner.ports.registered import RegisteredRow
from provisioner.ports.site_keys import SiteKey
from provisioner.store.database import Database
from provisioner.store.waiting import stored
from provisioner.units import Seconds, SiteName


@dataclass(slots=True)
class Looks:
    """At each CloudStack by the key that its site has now."""

    database: Database
    clock: Clock
    settings: Settings
    _clients: dict[SiteName, tuple[SiteKey, CloudStackClient]] = field(default_factory=dict)

    async def __call__(self, site: SiteName, rows: tuple[RegisteredRow, ...]) -> Union | None:
        """None: this site has no key."""
        key = await stored(self.database.site_keys.key, site)
        if key is None:
            return None
        known = self._clients.get(site)
        if known is None or known[0].changed_at != key.changed_at:
            if known is not None:
                known[1].close()
            known = self._clients[site] = (key, client_of(key, self.clock, self.settings))
        return await read_union(known[1], rows, self.clock)


def reconciler_of(
    settings: Settings, database: Database, records: Records, machines: BareMetal, clock: Clock
) -> Reconciler:
    """For all sites of the settings."""
    times = settings.times
    return Reconciler(
        sites=tuple(SiteName(site.name) for site in settings.extension.sites),
        look=Looks(database, clock, settings),
        records=records,
        registered=database.registered,
        machines=machines,
        clock=clock,
        readings_s=READINGS_OF * times.reading_too_old_s,
        too_old_s=times.reading_too_old_s,
        every=Seconds(times.reconcile_every_s),
    )
