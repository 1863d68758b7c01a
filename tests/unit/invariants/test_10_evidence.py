"""10: evidence is not changed, cut off or forged, and says how it was obtained.

The chain: tests/unit/evidence/test_chain.py. The rows: tests/unit/store/test_guards.py.
"""

import json
import shutil
import sqlite3
from contextlib import closing

import pytest

from provisioner.evidence.chain import verify_chain
from provisioner.testing.store import DigestSigner
from tests.unit.operations.world import RAMDISK, Killed, World

GUARDS = ("evidence_unchanged", "evidence_stays")
LAST = "sequence = (SELECT max(sequence) FROM evidence)"


@pytest.fixture(scope="session")
def wiped_template(active_template, tmp_path_factory):
    """After one release."""
    folder = tmp_path_factory.mktemp("wiped") / "state"
    world = World(shutil.copytree(active_template, folder))
    world.ask_for_release()
    world.walk()
    world.close()
    return folder


class File:
    """The database's file in the hands of whoever owns it: no guard is a hindrance to him."""

    def __init__(self, path):
        self.path = path

    def ask(self, *statements):
        with closing(sqlite3.connect(self.path)) as connection, connection:
            return [connection.execute(each).fetchall() for each in statements][-1]

    def forge(self, statement):
        self.ask(*(f"DROP TRIGGER guard_{name}" for name in GUARDS), statement)

    def checked(self, head=None):
        rows = self.ask("SELECT record FROM evidence ORDER BY sequence")
        keys = {DigestSigner().key_id(): DigestSigner.public}
        records = [json.loads(record) for (record,) in rows]
        return verify_chain(records, keys, DigestSigner.verify, head=head)

    def last(self):
        return json.loads(self.ask(f"SELECT record FROM evidence WHERE {LAST}")[0][0])["document"]


@pytest.fixture
def wiped(wiped_template, tmp_path):
    return File(shutil.copy(wiped_template / "rackwright.db", tmp_path))


def in_last(path, value):
    return f"UPDATE evidence SET record = json_set(record, '$.{path}', {value}) WHERE {LAST}"


FORGERIES = {
    "another server": in_last("document.server.name", "'s2'"),
    "another disk": in_last("document.disks[0].serial", "'X'"),
    "a better class": in_last("document.class", "'purge'"),
    "another time": in_last("document.times.erased.begun", "1"),
    "the one before left out": "DELETE FROM evidence WHERE sequence = 1",
    "its signature": in_last("signature", "'00'"),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forgery_by_whoever_owns_the_file_is_seen(wiped, forgery):
    assert wiped.checked().problems == ()
    wiped.forge(FORGERIES[forgery])
    assert wiped.checked().problems


def test_a_chain_that_was_cut_off_is_seen_by_its_exported_head(wiped):
    head = wiped.checked().head
    wiped.forge(f"DELETE FROM evidence WHERE {LAST}")
    assert wiped.checked().problems == ()
    assert wiped.checked(head).problems


def test_it_says_how_it_was_obtained_and_what_it_does_not_cover(wiped):
    document = wiped.last()
    obtained = document["obtained"]
    assert document["identity"] == {"class": "nonce", "way": "media"}
    assert obtained["boot_path"].startswith("network boot over ")
    assert obtained["ramdisk_sha256"] == RAMDISK.digest
    assert obtained["site_initrd_sha256"] != RAMDISK.digest
    assert "agent" in json.dumps(document["not_covered"])
    assert document["reason"]["who"]
    ((baseline,),) = wiped.ask("SELECT baseline FROM server WHERE name = 's1'")
    disks = [each["serial"] for each in json.loads(baseline)["disks"]]
    assert [each["serial"] for each in document["disks"]] == disks


@pytest.mark.parametrize("nonce", ["kept", "not read"])
def test_its_identity_class_is_what_was_proven(active, nonce):
    if nonce == "not read":
        active.agents["s1"].bends["read_nonce"] = lambda _: {"nonce": None}
    active.ask_for_release()
    active.walk()
    identity = active.database.evidence.records()[-1]["document"]["identity"]
    assert identity["class"] == ("nonce" if nonce == "kept" else "uuid")


def test_a_wipe_that_is_signed_twice_is_one_record(active):
    """The service dies after it signed and before it noted that."""
    active.ask_for_release()
    active.effects.die_after["sign"] = 1
    with pytest.raises(Killed):
        active.walk()
    count = len(active.database.evidence.records())
    active.crash()
    active.walk()
    assert len(active.database.evidence.records()) == count
    assert active.state() == "AVAILABLE"
