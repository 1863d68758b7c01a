"""By which key a site is asked about its instances."""

from dataclasses import dataclass
from typing import Protocol

from provisioner.secret import Secret
from provisioner.units import SiteName, WallSeconds


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteKey:
    """One API key of one site.

    Attributes:
        endpoint: Where its API answers.
        key: Names who asks; no secret.
        ca: PEM of a CA that the system does not know; "" where it does.
        changed_at: A client made of an older one is of no use any more.
    """

    site: SiteName
    endpoint: str
    key: str
    secret: Secret
    ca: str
    changed_at: WallSeconds


class SiteKeys(Protocol):
    """At most one for each site."""

    def key(self, site: SiteName) -> SiteKey | None:
        """Decrypted; None: this site is not asked."""
        ...

    def put(self, key: SiteKey) -> None:
        """Remember it instead of the site's older one."""
        ...

    def remove(self, site: SiteName) -> bool:
        """Ask no more; False where there was none."""
        ...
