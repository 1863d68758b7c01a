"""Composition of what asks each CloudStack by itself: the reconcile loop, and notes of failures."""

from dataclasses import dataclass, field

from cloudstack_ext.client import CloudStackClient
from cloudstack_ext.failure_notes import Explainer
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
class SiteClients:
    """A client for each site, by the key that it has now; of one event loop."""

    database: Database
    clock: Clock
    settings: Settings
    _clients: dict[SiteName, tuple[SiteKey, CloudStackClient]] = field(default_factory=dict)

    async def client(self, site: SiteName) -> CloudStackClient | None:
        """None: this site has no key."""
        key = await stored(self.database.site_keys.key, site)
        if key is None:
            return None
        known = self._clients.get(site)
        if known is None or known[0].changed_at != key.changed_at:
            if known is not None:
                known[1].close()
            known = self._clients[site] = (key, client_of(key, self.clock, self.settings))
        return known[1]

    async def look(self, site: SiteName, rows: tuple[RegisteredRow, ...]) -> Union | None:
        """All lists of one site; None: it is not asked."""
        client = await self.client(site)
        return None if client is None else await read_union(client, rows, self.clock)


def explainer_of(settings: Settings, database: Database, clock: Clock) -> Explainer:
    """For all sites of the settings."""
    return Explainer(
        sites=tuple(SiteName(site.name) for site in settings.extension.sites),
        door=SiteClients(database, clock, settings).client,
        notes=database.failure_notes,
        clock=clock,
    )


def reconciler_of(
    settings: Settings, database: Database, records: Records, machines: BareMetal, clock: Clock
) -> Reconciler:
    """For all sites of the settings."""
    times = settings.times
    return Reconciler(
        sites=tuple(SiteName(site.name) for site in settings.extension.sites),
        look=SiteClients(database, clock, settings).look,
        records=records,
        registered=database.registered,
        machines=machines,
        clock=clock,
        readings_s=READINGS_OF * times.reading_too_old_s,
        too_old_s=times.reading_too_old_s,
        every=Seconds(times.reconcile_every_s),
    )
