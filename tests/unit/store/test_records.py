"""Evidence, pools and images, calls and audit."""

from dataclasses import replace
from pathlib import Path

import pytest

from provisioner.errors import ConflictError, InputError
from provisioner.evidence.chain import verify_chain
from provisioner.ports.catalogue import ImageRecord
from provisioner.servers.model import PoolPolicy
from provisioner.servers.states import Intent
from provisioner.store.call_journal import AT_ONCE
from provisioner.testing import store
from provisioner.units import ImageName, PoolName, ServerName, WallSeconds

NOW = WallSeconds(10.0)
S1 = ServerName("s1")


# --- evidence ------------------------------------------------------------------------------
def test_records_are_a_chain_from_the_first_that_its_verifier_accepts(database):
    records = database.evidence.records()
    assert [each["sequence"] for each in records] == [1, 2]
    assert records[0]["document"] == {"server": "s1"}
    keys = {store.DigestSigner().key_id(): store.DigestSigner.public}
    checked = verify_chain(records, keys, store.DigestSigner.verify)
    assert checked.problems == ()
    assert checked.head["hash"] == records[1]["hash"]


def test_a_record_clears_dirty_with_itself(database):
    cleaning = database.operations.open(S1, store.operation(Intent.CLEAN), now=NOW)
    database.effects.begin(cleaning.id, "off", now=NOW, dirties=True)
    assert database.servers.server(S1).dirty
    identifier = database.evidence.append_and_clean(cleaning.id, {"disks": ["D1"]})
    assert not database.servers.server(S1).dirty
    assert database.evidence.records()[-1]["hash"] == identifier


def test_the_same_wipe_leaves_one_record(database):
    cleaning = database.operations.open(S1, store.operation(Intent.CLEAN), now=NOW)
    first = database.evidence.append_and_clean(cleaning.id, {"disks": ["D1"]})
    assert database.evidence.append_and_clean(cleaning.id, {"disks": ["D1"]}) == first
    assert len(database.evidence.records()) == 3


def test_a_superseded_wipe_proves_nothing(database):
    cleaning = database.operations.open(S1, store.operation(Intent.CLEAN), now=NOW)
    database.operations.open(S1, store.operation(Intent.QUARANTINE), now=NOW)
    with pytest.raises(ConflictError, match="SUPERSEDED"):
        database.evidence.append_and_clean(cleaning.id, {})
    assert len(database.evidence.records()) == 2


# --- pools and images ----------------------------------------------------------------------
IMAGE = ImageRecord(
    name=ImageName("tiny"),
    root="aa",
    image_bytes=2**33,
    data_bytes=2**30,
    block_bytes=4 * 2**20,
    logical_sector_bytes=512,
    source_format="qcow2",
    imported_at=NOW,
    folder=Path("/var/lib/rackwright/blobs/images/tiny"),
)


def test_a_pool_is_made_and_replaced(database):
    pool = replace(store.pool("b", min_gpus=2), policy=PoolPolicy(wipe_methods=2))
    database.catalogue.put_pool(pool)
    assert database.catalogue.pool(PoolName("b")) == pool
    smaller = replace(pool, images={})
    database.catalogue.put_pool(smaller)
    assert database.catalogue.pools() == (store.pool("a"), smaller)
    assert database.catalogue.pool(PoolName("c")) is None


def test_an_image_keeps_its_name_for_the_same_bytes(database):
    assert database.catalogue.image(IMAGE.name) is None
    database.catalogue.put_image(IMAGE)
    moved = replace(IMAGE, folder=Path("/srv/images/tiny"))
    database.catalogue.put_image(moved)
    assert database.catalogue.images() == (moved,)
    with pytest.raises(ConflictError, match="IMAGE_EXISTS"):
        database.catalogue.put_image(replace(IMAGE, root="bb"))


def test_an_image_in_use_is_not_removed_and_its_name_stays_its_own(database):
    database.catalogue.put_image(IMAGE)
    database.catalogue.put_pool(replace(store.pool("a"), images={"ubuntu": IMAGE.name}))
    with pytest.raises(ConflictError, match=r"IN_USE: image .* is used by pool a"):
        database.catalogue.remove_image(IMAGE.name)
    database.catalogue.put_pool(replace(store.pool("a"), images={}))
    needs = replace(store.operation(Intent.CLEAN), parameters={"image": IMAGE.name})
    running = database.operations.open(S1, needs, now=NOW)
    with pytest.raises(ConflictError, match=f"is used by operation {running.id}"):
        database.catalogue.remove_image(IMAGE.name)
    database.operations.cancel(running.id, "ann", store.follow, now=NOW)
    assert database.catalogue.remove_image(IMAGE.name) == IMAGE
    assert database.catalogue.image(IMAGE.name) is None
    assert IMAGE.name not in {each.name for each in database.catalogue.images()}
    with pytest.raises(InputError, match="IMAGE_UNKNOWN"):
        database.catalogue.remove_image(IMAGE.name)
    with pytest.raises(ConflictError, match="IMAGE_EXISTS"):
        database.catalogue.put_image(replace(IMAGE, root="bb"))
    database.catalogue.put_image(IMAGE)
    assert database.catalogue.image(IMAGE.name) == IMAGE


# --- calls and audit -----------------------------------------------------------------------
def test_calls_are_kept_in_order_with_the_operation_that_ran(database, clock):
    database.calls.call(S1, "controller", "read power", "ok")
    running = database.operations.open(S1, store.operation(Intent.CLEAN), now=NOW)
    clock.advance(5.0)
    database.calls.call(S1, "controller", "power off", "ok")
    database.calls.call(S1, "port", "tap-s1 quarantine", "PORT_NOT_SET: no bridge")
    database.calls.call(ServerName("s2"), "controller", "read power", "ok")
    found = database.calls.calls(server=S1)
    assert [each.text for each in found] == ["read power", "power off", "tap-s1 quarantine"]
    assert [each.operation for each in found] == [None, running.id, running.id]
    assert database.calls.calls(operation=running.id) == found[1:]
    assert database.calls.calls(most=1)[0].server == "s2"
    assert len(database.calls.calls(since=found[1].at)) == 3


def test_audit_is_read_newest_first(database):
    database.audit.audit("ann (uid 1000)", "maintenance", "s1", "fan")
    database.audit.audit("ben (token)", "quarantine", "s2")
    found = database.audit.entries()
    assert [(each.who, each.subject, each.detail) for each in found] == [
        ("ben (token)", "s2", ""),
        ("ann (uid 1000)", "s1", "fan"),
    ]
    assert len(database.audit.entries(most=1)) == 1


def test_audit_of_a_server_has_its_operations_and_of_who_had_it(database, clock):
    running = database.operations.open(S1, store.operation(Intent.CLEAN), now=NOW)
    database.audit.audit("ann", "cancel", running.id)
    clock.advance(5.0)
    later = clock.wall()
    database.audit.audit("ann", "maintenance", "s1")
    database.audit.audit("ben", "put pool", "a")
    found = database.audit.entries(server=S1)
    assert [each.act for each in found] == ["maintenance", "cancel"]
    assert [each.act for each in database.audit.entries(since=later)] == ["put pool", "maintenance"]
    assert database.audit.entries(server=ServerName("s2")) == ()


DAY_S = 86400.0


def test_old_calls_go_and_young_ones_stay_whoever_asks(database, clock):
    clock.step_wall(-1e9)  # the machine's own clock counts too, and is not the test's
    for _ in range(2 * AT_ONCE + 5):
        database.calls.call(S1, "controller", "read power", "ok")
    clock.advance(50 * DAY_S)
    database.calls.call(S1, "controller", "power off", "ok")
    clock.advance(5 * DAY_S)
    database.calls.call(S1, "controller", "power on", "ok")
    assert database.calls.forget(WallSeconds(clock.wall() - 90 * DAY_S)) == 0
    assert database.calls.forget(WallSeconds(clock.wall() - 30 * DAY_S)) == 2 * AT_ONCE + 5
    clock.advance(30 * DAY_S)  # nothing was called for a month: the last week before it stays
    assert database.calls.forget(clock.wall()) == 0
    assert [each.text for each in database.calls.calls()] == ["power off", "power on"]
