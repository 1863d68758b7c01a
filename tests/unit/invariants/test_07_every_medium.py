"""7: no medium of the baseline is unaccounted for, and none that is not listed is ignored."""

from dataclasses import replace

import pytest

from provisioner.hardware.inventory import Transport
from provisioner.operations import desk
from provisioner.operations.inspect import INSPECT
from provisioner.operations.release import CLEAN
from provisioner.servers.baseline import differences
from provisioner.servers.controller_media import NamedMedium
from provisioner.servers.model import ExcludedDisk, PoolPolicy, State
from provisioner.testing import store
from tests.unit.operations.world import ONE

ANN = desk.Operator(name="ann", role="admin", by="uid 0")


def with_disk(facts, **fields):
    """One disk more, like the first but for these."""
    one = replace(facts.disks[0], serial="more", name="sdz", **fields)
    return replace(facts, disks=(*facts.disks, one))


def inspected():
    server = store.new_server("s1")
    return replace(server, baseline=store.inventory(ONE, server.nics[0].mac))


def released(world):
    """The release to its end; what it said, and what was done."""
    operation = world.ask_for_release()
    world.walk()
    record = world.operation(operation)
    return record.code, world.agents["s1"].done


def still_dirty(world):
    server = world.server()
    return (server.state, server.dirty) == (State.QUARANTINED, True)


# --- what differs from the baseline --------------------------------------------------------
def test_a_disk_that_a_tenant_has_write_protected_is_not_left_out_of_the_wipe(active):
    baseline = active.server().baseline
    active.agents["s1"].facts = store.replace_disks(baseline, read_only=True)
    code, done = released(active)
    assert code == "FACTS_DIFFER"
    assert "erase" not in done
    assert still_dirty(active)


def test_of_two_disks_that_look_alike_none_may_become_write_protected():
    server = inspected()
    alike = replace(server.baseline.disks[0], serial=None, wwn=None)
    for first, second in ((True, False), (False, False)):
        remembered = (replace(alike, read_only=first), replace(alike, read_only=second))
        baseline = replace(server.baseline, disks=remembered)
        now = replace(baseline, disks=tuple(replace(each, read_only=True) for each in remembered))
        assert differences(replace(server, baseline=baseline), now)
        assert not differences(replace(server, baseline=baseline), baseline)


def test_one_that_was_protected_from_the_beginning_is_no_difference():
    server = inspected()
    baseline = store.replace_disks(server.baseline, read_only=True)
    assert not differences(replace(server, baseline=baseline), baseline)
    assert not differences(replace(server, baseline=baseline), server.baseline)


@pytest.mark.parametrize("transport", [Transport.NVME, Transport.SAS, Transport.USB])
def test_but_nobody_gets_a_server_with_it_until_it_is_listed(active, transport):
    """It may hold a tenant's data, written before it was protected."""
    protected = with_disk(active.server().baseline, read_only=True, transport=transport, wwn="w9")
    active.database.servers.change("s1", baseline=protected)
    active.agents["s1"].facts = protected
    code, done = released(active)
    assert code == "WIPE_METHOD_MISSING"
    assert "erase" not in done
    assert still_dirty(active)

    listed = (ExcludedDisk(wwn="w9", name="sdz"),)
    active.database.servers.change("s1", excluded_disks=listed)
    active.open(CLEAN)
    active.walk()
    assert active.state() is State.AVAILABLE


@pytest.mark.parametrize(
    "now",
    [{"removable": True}, {"transport": Transport.USB}, {"bytes": 2**39}, {"serial": "other"}],
    ids=str,
)
def test_a_disk_that_turned_into_something_else_is_missed(now):
    server = inspected()
    assert differences(server, store.replace_disks(server.baseline, **now))


# --- what a new inspection may say ---------------------------------------------------------
def test_a_new_inspection_forgets_no_disk(active):
    """A disk that is away for a moment would be given to the next tenant as it is."""
    active.ask_for_release()
    active.walk()
    baseline = active.server().baseline
    less = replace(baseline, disks=())
    active.agents["s1"].bends["inspect"] = lambda _: {"facts": less.to_json()}
    inspection = active.open(INSPECT)
    active.walk()
    assert active.operation(inspection).code == "FACTS_DIFFER"
    assert active.server().baseline == baseline
    assert active.state() is State.QUARANTINED


def test_two_looks_of_a_first_inspection_must_agree(world):
    store.enrol(world.database, "s3")
    world.database.servers.change("s3", identity=world.server().identity and identity())
    world.put_in_rack("s3")
    mac = world.server("s3").nics[0].mac
    facts = store.inventory(identity().system_uuid, mac)
    world.agents["s3"].facts = facts
    world.agents["s3"].bends["inspect"] = lambda _: {"facts": with_disk(facts).to_json()}
    world.open(INSPECT, "s3")
    world.walk()
    assert world.state("s3") is State.QUARANTINED
    assert world.server("s3").baseline is None


def identity():
    return store.ControllerIdentity(system_uuid="aaaaaaaa-0000-0000-0000-000000000003")


# --- what is plugged in --------------------------------------------------------------------
def test_a_writable_removable_medium_stops_the_wipe(active):
    active.agents["s1"].facts = with_disk(
        active.server().baseline, wwn="0x1", transport=Transport.USB
    )
    code, done = released(active)
    assert code == "WIPE_METHOD_MISSING"
    assert "erase" not in done
    assert still_dirty(active)


def test_one_that_is_listed_stands_in_the_evidence_and_optical_drives_refuse_nothing(active):
    listed = ExcludedDisk(wwn="0x1", name="installer stick")
    active.database.servers.change("s1", excluded_disks=(listed,))
    stick = with_disk(active.server().baseline, wwn="0x1", transport=Transport.USB)
    drive = {"transport": Transport.OPTICAL, "removable": True, "bytes": 0}
    active.agents["s1"].facts = with_disk(stick, **drive)
    code, _ = released(active)
    assert code is None
    document = active.database.evidence.records()[-1]["document"]
    assert {"wwn": "0x1", "name": "installer stick"} in document["baseline"]["excluded"]
    assert len(document["disks"]) == 1


# --- what only the controller names --------------------------------------------------------
def named(world, *media):
    """Its controller names the machine's own disks, and these besides."""
    shown = world.server().baseline.disks
    own = [NamedMedium(name=each.name, serial=each.serial) for each in shown]
    world.machines["s1"].media = (*own, *media)


BEHIND_RAID = NamedMedium(name="Disk.Bay.3", serial="S-HIDDEN", wwns=("naa.5000c500ffffffff",))


def test_a_drive_that_the_machine_does_not_show_stops_the_wipe(active):
    named(active, BEHIND_RAID)
    code, done = released(active)
    assert code == "WIPE_METHOD_MISSING"
    assert not {"mark", "erase"} & set(done)
    assert still_dirty(active)


def test_a_pool_may_list_it_and_the_evidence_says_so(active):
    pool = replace(active.database.catalogue.pool("a"), policy=PoolPolicy(unerasable="list"))
    active.database.catalogue.put_pool(pool)
    named(active, BEHIND_RAID)
    code, _ = released(active)
    assert code is None
    document = active.database.evidence.records()[-1]["document"]
    assert document["controller_media"]["hidden"] == [BEHIND_RAID.label()]
    assert any("S-HIDDEN" in text for text in document["not_covered"])


def test_an_operator_may_exclude_it(active):
    listed = (ExcludedDisk(wwn="0x5000C500FFFFFFFF", name="boot card"),)
    active.database.servers.change("s1", excluded_disks=listed)
    named(active, BEHIND_RAID)
    code, _ = released(active)
    assert code is None


def test_drives_that_the_machine_shows_too_stop_nothing(active):
    named(active)
    code, _ = released(active)
    assert code is None
    document = active.database.evidence.records()[-1]["document"]
    assert document["controller_media"] == {"named": 1, "hidden": []}


@pytest.mark.parametrize("now", [(), None], ids=["taken out", "no list any more"])
def test_one_of_the_inspection_that_is_gone_is_missed(active, now):
    """It left with what a tenant wrote on it, allowed by the pool or not."""
    pool = replace(active.database.catalogue.pool("a"), policy=PoolPolicy(unerasable="list"))
    active.database.catalogue.put_pool(pool)
    active.database.servers.change("s1", hidden_media=(BEHIND_RAID.label(),))
    active.machines["s1"].media = now
    code, done = released(active)
    assert code == "FACTS_DIFFER"
    assert "erase" not in done
    assert still_dirty(active)


def test_an_inspection_remembers_what_was_hidden(world):
    store.enrol(world.database, "s3")
    world.database.servers.change("s3", identity=identity())
    world.put_in_rack("s3", media=(BEHIND_RAID,))
    world.agents["s3"].facts = store.inventory(
        identity().system_uuid, world.server("s3").nics[0].mac
    )
    world.open(INSPECT, "s3")
    world.walk()
    assert world.server("s3").hidden_media == (BEHIND_RAID.label(),)


# --- what the agent reports ----------------------------------------------------------------
def without(*kinds):
    """An agent that leaves the disks out of these answers."""
    return {kind: lambda good: good | {"disks": []} for kind in kinds}


def other_serial(good):
    return {"disks": [each | {"disk": each["disk"] | {"serial": "X"}} for each in good["disks"]]}


LIES = {
    "no disk was erased": without("erase"),
    "no disk at all": without("mark", "erase", "verify"),
    "another disk throughout": dict.fromkeys(("mark", "erase", "verify"), other_serial),
}


@pytest.mark.parametrize("lie", LIES)
def test_an_agent_that_reports_fewer_or_other_disks_clears_nothing(active, lie):
    active.agents["s1"].bends.update(LIES[lie])
    before = len(active.database.evidence.records())
    code, _ = released(active)
    assert code is not None
    assert len(active.database.evidence.records()) == before
    assert still_dirty(active)


def test_two_disks_that_cannot_be_told_apart_are_not_wiped_as_one(active):
    """The evidence would name one, and one would keep its data."""
    one = replace(active.server().baseline.disks[0], serial=None, wwn=None)
    facts = replace(active.server().baseline, disks=(one, replace(one, name="nvme1n1")))
    active.database.servers.change("s1", baseline=facts)
    code, done = released(active)
    assert code == "DISK_AMBIGUOUS"
    assert "erase" not in done
    assert still_dirty(active)
