"""What operators tell of the keys by which sites are asked."""

from dataclasses import dataclass

from provisioner.errors import ErrorCode, InputError
from provisioner.operations.desk import Operator
from provisioner.operations.desk_records import refuse_held
from provisioner.ports.journal import Audit
from provisioner.ports.site_keys import SiteKey, SiteKeys
from provisioner.store.waiting import stored
from provisioner.units import SiteName


@dataclass(frozen=True, slots=True)
class KeyBox:
    """Implements the desk's part for the sites' keys.

    Attributes:
        sites: That the service's settings know.
        held: Why nothing may change now (invariant 16), "" otherwise.
    """

    keys: SiteKeys
    audit: Audit
    sites: frozenset[SiteName]
    held: str = ""

    async def site_key(self, site: SiteName) -> SiteKey | None:
        """None: this site is not asked."""
        self._known(site)
        return await stored(self.keys.key, site)

    async def put_site_key(self, key: SiteKey, by: Operator) -> None:
        """Ask by this one from now on."""
        refuse_held(self.held)
        self._known(key.site)
        await stored(self.keys.put, key)
        await stored(self.audit.audit, by.who(), "put site key", key.site, key.key)

    async def remove_site_key(self, site: SiteName, by: Operator) -> bool:
        """Ask no more; False where there was none."""
        refuse_held(self.held)
        self._known(site)
        was_there = await stored(self.keys.remove, site)
        await stored(self.audit.audit, by.who(), "remove site key", site)
        return was_there

    def _known(self, site: SiteName) -> None:
        if site not in self.sites:
            known = ", ".join(sorted(self.sites)) or "none"
            text = f"site: {site} is not in the service's settings ([[extension.sites]]: {known})"
            raise InputError(ErrorCode.REGISTRATION_INVALID, text)
