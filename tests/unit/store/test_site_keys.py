"""Keys to the sites' own APIs: one a site, its secret sealed."""

import sqlite3

import pytest

from provisioner.ports.site_keys import SiteKey
from provisioner.secret import Secret

KEY = {"site": "lab", "endpoint": "https://cs/client/api", "key": "k-1", "ca": ""}


def key(secret="s-1", changed_at=1.0, **differs):
    return SiteKey(**{**KEY, **differs}, secret=Secret(secret), changed_at=changed_at)


def test_there_is_none_until_one_is_put(database):
    assert database.site_keys.key("lab") is None
    assert database.site_keys.remove("lab") is False


def test_the_newest_stands_and_another_sites_does_not_count(database):
    database.site_keys.put(key())
    database.site_keys.put(key(secret="s-2", changed_at=2.0))
    found = database.site_keys.key("lab")
    assert (found.secret.reveal(), found.changed_at, found.endpoint) == (
        "s-2",
        2.0,
        KEY["endpoint"],
    )
    assert database.site_keys.key("other") is None
    assert database.site_keys.remove("lab") is True
    assert database.site_keys.key("lab") is None


@pytest.mark.parametrize("secret", ["a-secret-of-a-site"])
def test_the_secret_stands_nowhere_in_the_file(database, folder, secret):
    database.site_keys.put(key(secret=secret))
    database.close()
    for path in folder.glob("rackwright.db*"):
        assert secret.encode() not in path.read_bytes(), path
    connection = sqlite3.connect(folder / "rackwright.db")
    assert secret not in str(connection.execute("SELECT * FROM site_key").fetchall())
    connection.close()
