"""Port `SiteKeys`: keys to the sites' own APIs, their secrets sealed."""

import sqlalchemy as sa

from provisioner.ports.keys import Cipher
from provisioner.ports.site_keys import SiteKey
from provisioner.secret import Secret
from provisioner.store.tables.sites import SITE_KEY
from provisioner.store.transactions import Transactions
from provisioner.units import SiteName


class SqlSiteKeys:
    """Implements ports.SiteKeys."""

    def __init__(self, transactions: Transactions, cipher: Cipher) -> None:
        self._transactions = transactions
        self._cipher = cipher

    def key(self, site: SiteName) -> SiteKey | None:
        """Decrypted; None: this site is not asked."""
        query = sa.select(SITE_KEY).where(SITE_KEY.c.site == site)
        with self._transactions.read() as connection:
            row = connection.execute(query).mappings().one_or_none()
        if row is None:
            return None
        secret = self._cipher.open(row["secret"], purpose=_purpose(site)).decode()
        return SiteKey(**{**row, "secret": Secret(secret)})

    def put(self, key: SiteKey) -> None:
        """Remember it instead of the site's older one."""
        sealed = self._cipher.seal(key.secret.reveal().encode(), purpose=_purpose(key.site))
        columns = {
            "site": key.site,
            "endpoint": key.endpoint,
            "key": key.key,
            "secret": sealed,
            "ca": key.ca,
            "changed_at": key.changed_at,
        }
        with self._transactions.write() as connection:
            connection.execute(sa.delete(SITE_KEY).where(SITE_KEY.c.site == key.site))
            connection.execute(sa.insert(SITE_KEY).values(**columns))

    def remove(self, site: SiteName) -> bool:
        """Ask no more; False where there was none."""
        with self._transactions.write() as connection:
            gone = connection.execute(sa.delete(SITE_KEY).where(SITE_KEY.c.site == site))
            return bool(gone.rowcount)


def _purpose(site: SiteName) -> str:
    return f"API key of site {site}"
