"""Composition of what is asked of each CloudStack: a client for each key, made when needed."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from cloudstack_ext.api_key import ApiKey
from cloudstack_ext.certify import Certifier
from cloudstack_ext.client import CloudStackClient
from cloudstack_ext.truth import ApiTruth
from cloudstack_ext.verbs import without_key
from provisioner.config import Settings
from provisioner.ports.clock import Clock
from provisioner.ports.registered import RegisteredRow
from provisioner.ports.site_keys import SiteKey
from provisioner.servers.allocation import InstanceKey, InstanceRequest, Protection
from provisioner.store.database import Database
from provisioner.store.waiting import stored
from provisioner.units import MonotonicSeconds, SiteName


def client_of(key: SiteKey, clock: Clock, settings: Settings) -> CloudStackClient:
    """A new client; the library below reads a CA from a file only."""
    ca = None
    if key.ca:
        ca = settings.service.state_dir / f"ca-of-{key.site}.pem"
        ca.write_text(key.ca)
    return CloudStackClient(key.endpoint, ApiKey(key=key.key, secret=key.secret), clock, ca=ca)


@dataclass(slots=True)
class _Asked:
    key: SiteKey
    client: CloudStackClient
    certifier: Certifier


@dataclass(slots=True)
class Truths:
    """One certifier for each site that has a key; another one where the key was changed.

    Attributes:
        listed: Whether an instance is protected by the last list of its site.
    """

    database: Database
    clock: Clock
    settings: Settings
    listed: Callable[[InstanceKey], bool | None]
    _asked: dict[SiteName, _Asked] = field(default_factory=dict)

    async def certified(
        self, request: InstanceRequest, size: str | None, until: MonotonicSeconds
    ) -> InstanceRequest:
        """As CloudStack says; as it is where its site is not asked."""
        certifier = await self._of(request.key.site)
        if certifier is None:
            return request
        return await certifier.certified(request, size, until)

    async def anew(
        self, request: InstanceRequest, size: str, image: str | None, until: MonotonicSeconds
    ) -> InstanceRequest:
        """As CloudStack says; without a key with the image that it has."""
        certifier = await self._of(request.key.site)
        if certifier is None:
            return without_key(request, image)
        return await certifier.anew(request, size, image, until)

    async def protection(self, key: InstanceKey) -> Protection:
        """As CloudStack says; where its site is not asked, nobody has."""
        certifier = await self._of(key.site)
        if certifier is None:
            return Protection.NOT_ASKED
        return await certifier.protection(key.instance)

    async def names(self, key: InstanceKey) -> frozenset[str]:
        """As CloudStack says; none where its site is not asked."""
        certifier = await self._of(key.site)
        return frozenset() if certifier is None else await certifier.names(key.instance)

    async def _of(self, site: SiteName) -> Certifier | None:
        key = await stored(self.database.site_keys.key, site)
        if key is None:
            return None
        asked = self._asked.get(site)
        if asked is None or asked.key.changed_at != key.changed_at:
            if asked is not None:
                asked.client.close()
            asked = self._asked[site] = self._ask(key)
        return asked.certifier

    def _ask(self, key: SiteKey) -> _Asked:
        times = self.settings.times
        client = client_of(key, self.clock, self.settings)
        certifier = Certifier(
            truth=ApiTruth(client),
            registered=partial(self._registered, key.site),
            clock=self.clock,
            wait_s=times.truth_wait_s,
            memory_s=times.failure_memory_s,
            listed=lambda instance: self.listed(InstanceKey(site=key.site, instance=instance)),
        )
        return _Asked(key, client, certifier)

    async def _registered(self, site: SiteName) -> tuple[RegisteredRow, ...]:
        return await stored(self.database.registered.rows, site)
