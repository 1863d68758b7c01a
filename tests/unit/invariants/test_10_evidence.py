"""10: evidence is not changed, cut off or forged, and says how it was obtained.

The chain: tests/unit/evidence/test_chain.py. The rows: tests/unit/store/test_guards.py.
"""

import json

import pytest

from provisioner.evidence.chain import verify_chain
from provisioner.testing.store import DigestSigner
from tests.unit.operations.world import RAMDISK, Killed

GUARDS = ("evidence_unchanged", "evidence_stays")
LAST = "sequence = (SELECT max(sequence) FROM evidence)"


@pytest.fixture
def wiped(active):
    active.ask_for_release()
    active.walk()
    return active


def checked(world, head=None):
    keys = {DigestSigner().key_id(): DigestSigner.public}
    records = world.database.evidence.records()
    return verify_chain(records, keys, DigestSigner.verify, head=head)


def by_the_owner_of_the_file(outsider, world, *statements):
    """The guards are no hindrance to whoever can write the file: the chain is."""
    outsider(world, *(f"DROP TRIGGER guard_{name}" for name in GUARDS), *statements)


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
def test_a_forgery_by_whoever_owns_the_file_is_seen(wiped, outsider, forgery):
    assert checked(wiped).problems == ()
    by_the_owner_of_the_file(outsider, wiped, FORGERIES[forgery])
    assert checked(wiped).problems


def test_a_chain_that_was_cut_off_is_seen_by_its_exported_head(wiped, outsider):
    head = checked(wiped).head
    by_the_owner_of_the_file(outsider, wiped, f"DELETE FROM evidence WHERE {LAST}")
    assert checked(wiped).problems == ()
    assert checked(wiped, head).problems


def test_it_says_how_it_was_obtained_and_what_it_does_not_cover(wiped):
    document = wiped.database.evidence.records()[-1]["document"]
    obtained = document["obtained"]
    assert document["identity"] == {"class": "nonce", "way": "media"}
    assert obtained["boot_path"].startswith("network boot over ")
    assert obtained["ramdisk_sha256"] == RAMDISK.digest
    assert obtained["site_initrd_sha256"] != RAMDISK.digest
    assert "agent" in json.dumps(document["not_covered"])
    assert document["reason"]["who"]
    assert [each["serial"] for each in document["disks"]] == [
        disk.serial for disk in wiped.server().baseline.disks
    ]


@pytest.mark.parametrize("nonce", ["kept", "refused", "not read"])
def test_its_identity_class_is_what_was_proven(active, nonce):
    machine, agent = active.machines["s1"], active.agents["s1"]
    if nonce == "refused":
        machine.refuses.add("leave_nonce")
    if nonce == "not read":
        agent.bends["read_nonce"] = lambda _: {"nonce": None}
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
