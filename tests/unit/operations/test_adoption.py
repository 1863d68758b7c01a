"""A server that runs is given to an instance as it is; it comes back by quarantine and a wipe."""

import pytest
import sqlalchemy as sa

from cloudstack_ext.power_view import PowerState, power_state
from provisioner.errors import ErrorCode
from provisioner.operations.desk import Adopt, Inspect, Provide, Verify
from provisioner.operations.release import CLEAN
from provisioner.servers.allocation import Phase
from provisioner.servers.model import ControllerIdentity, Placement, Power, State
from provisioner.testing import store
from tests.unit.operations.asking import note
from tests.unit.operations.test_desk import ANN, code_of, servers_of
from tests.unit.operations.test_rehearsal import dump
from tests.unit.operations.world import REQUEST

ADOPT = Adopt(site="lab", instance=REQUEST.key.instance)
IDENTITY = ControllerIdentity(system_uuid="aaaaaaaa-0000-0000-0000-000000000003")


def desk_of(world):
    desk = servers_of(world)
    desk.sites = frozenset({"lab"})
    return desk


def ask(world, act=ADOPT, name="s3", *, dry_run=False):
    return world.do(desk_of(world).act(name, act, ANN, dry_run=dry_run))


@pytest.fixture
def running(world):
    """s3 was found switched on: somebody's system, with data on its disk."""
    store.enrol(world.database, "s3")
    world.put_in_rack("s3", identity=IDENTITY, power=Power.ON, started=True)
    facts = store.inventory(IDENTITY.system_uuid, world.server("s3").nics[0].mac)
    world.agents["s3"].facts = store.replace_disks(facts, has_partition_table=True)
    ask(world, Verify())
    world.walk()
    assert (world.state("s3"), world.server("s3").found_on) == (State.ENROLLED, True)
    world.machines["s3"].calls.clear()
    return world


@pytest.fixture
def adopted(running):
    ask(running)
    return running


def serial(world):
    return world.agents["s3"].facts.disks[0].serial


# --- the act -------------------------------------------------------------------------------
def test_it_is_the_instance_s_active_and_dirty_and_nothing_was_called(running):
    epoch, generation = running.server("s3").epoch, running.database.generation._generation
    asked = ask(running)
    assert asked.operation is None
    assert f"s3 is given to instance lab/{ADOPT.instance}" in asked.text
    server, allocation = running.server("s3"), running.allocation()
    assert (server.state, server.dirty, server.found_on) == (State.ACTIVE, True, False)
    assert (allocation.server, allocation.phase) == ("s3", Phase.ACTIVE)
    assert (allocation.pool, allocation.wanted) == (server.pool, Power.UNKNOWN)
    assert allocation.known_to_caller
    assert allocation.ever_powered
    assert server.epoch > epoch
    assert running.database.generation._generation > generation
    assert running.machines["s3"].calls == []
    assert running.ports.moves == []
    assert running.power_of("s3") is Power.ON
    assert running.open_now("s3") is None
    entry = running.database.audit.entries()[0]
    assert (entry.who, entry.act, entry.subject) == ("operator ann (uid 1000)", "adopt", "s3")
    assert entry.detail == f"instance: lab/{ADOPT.instance}"


def test_a_dry_run_says_that_nothing_is_called_and_changes_nothing(running):
    before = dump(running)
    asked = ask(running, dry_run=True)
    assert (asked.dry_run, asked.operation, asked.steps) == (True, None, ())
    assert "nothing is called" in asked.text
    assert dump(running) == before


def seen(power):
    return lambda world: note(world, power, "s3")


def has_another(world):
    world.ask_for_deployment()


def deleted(world):
    world.do(world.bare_metal.release(REQUEST.key, "lab", until=0.0))


REFUSED = {
    "a server that is free": ("s1", lambda _: None, "STATE_CONFLICT"),
    "one that nobody has verified": (
        "s4",
        lambda world: store.enrol(world.database, "s4"),
        "STATE_CONFLICT",
    ),
    "one that is being verified": (
        "s3",
        lambda world: ask(world, Verify()),
        "STATE_CONFLICT",
    ),
    "one that is off by now": ("s3", seen(Power.OFF), "STATE_CONFLICT"),
    "one of which nobody knows": ("s3", seen(Power.UNKNOWN), "STATE_CONFLICT"),
    "one that was found off": (
        "s3",
        lambda world: world.database.servers.change("s3", found_on=False),
        "STATE_CONFLICT",
    ),
    "one that was adopted already": ("s3", ask, "STATE_CONFLICT"),
    "an instance that has a server": ("s3", has_another, "IN_USE"),
    "an instance that was deleted": ("s3", deleted, "INSTANCE_DELETED"),
    "a server that is none": ("s7", lambda _: None, "SERVER_UNKNOWN"),
}


@pytest.mark.parametrize("dry_run", [False, True])
@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_and_so_is_its_dry_run(running, name, dry_run):
    server, bring, code = REFUSED[name]
    bring(running)
    before = dump(running)
    asked = desk_of(running).act(server, ADOPT, ANN, dry_run=dry_run)
    assert code_of(running, asked) == code
    assert dump(running) == before


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_site_that_is_none_is_refused(running, dry_run):
    asked = servers_of(running).act("s3", ADOPT, ANN, dry_run=dry_run)
    assert code_of(running, asked) is ErrorCode.SITE_UNKNOWN


# --- what CloudStack does with it -----------------------------------------------------------
def view(world):
    return power_state(world.do(world.bare_metal.observe(REQUEST.key)))


def test_before_its_first_verb_status_says_nothing(adopted):
    """PowerOn would make a stopped instance run in CloudStack, without its network."""
    for _ in range(5):
        adopted.pass_time(15.0)
        note(adopted, Power.ON, "s3")
    assert view(adopted) is PowerState.UNKNOWN


def test_its_first_create_is_a_start(adopted):
    answer = adopted.live(adopted.bare_metal.deploy(REQUEST, until=adopted.within(600.0)))
    assert answer.text == "started"
    assert adopted.kinds("s3")[-1] == "power"
    assert adopted.placement("s3") is Placement.TENANT
    assert adopted.power_of("s3") is Power.ON
    assert adopted.machines["s3"].booted_from == []  # it ran on
    assert "write_image" not in adopted.agents["s3"].done
    assert adopted.allocation().name == REQUEST.name
    note(adopted, Power.ON, "s3")
    assert view(adopted) is PowerState.ON


def test_a_stop_is_a_stop(adopted):
    """No grace that would end in a release: CloudStack has this instance."""
    answer = adopted.power("off")
    assert answer.text == "off, its port is in quarantine"
    assert adopted.power_of("s3") is Power.OFF
    assert adopted.placement("s3") is Placement.QUARANTINE
    adopted.pass_time(1000.0)
    adopted.do(adopted.housekeeping.round())
    assert adopted.state("s3") is State.ACTIVE
    assert adopted.power("on").text == "started"


def test_prepare_answers_its_own_addresses(adopted):
    kept = adopted.do(adopted.bare_metal.reserve(REQUEST))
    assert (kept.server, [*kept.macs.values()]) == ("s3", [adopted.server("s3").nics[0].mac])


# --- given back -------------------------------------------------------------------------------
def delete(world, within=20.0):
    act = world.bare_metal.release(REQUEST.key, "lab", until=world.within(within))
    answer = world.live(act)
    world.until(lambda: world.open_now("s3") is None)
    return answer


def test_its_release_fences_it_and_ends_in_quarantine_un_wiped(adopted):
    assert delete(adopted).text == "off is confirmed; the wipe follows"
    server = adopted.server("s3")
    assert (server.state, server.dirty) == (State.QUARANTINED, True)
    assert "nobody has inspected s3 yet" in server.reason
    assert adopted.power_of("s3") is Power.OFF
    assert adopted.placement("s3") is Placement.QUARANTINE
    assert adopted.agents["s3"].done == []
    assert adopted.machines["s3"].booted_from == []
    assert adopted.kinds("s3")[-2:] == ["release", "quarantine"]
    assert view(adopted) is PowerState.OFF


def test_it_is_offered_after_provide_has_inspected_and_wiped_it(adopted):
    delete(adopted)
    records = len(adopted.database.evidence.records())
    ask(adopted, Provide())
    adopted.walk()
    assert adopted.state("s3") is State.QUARANTINED  # its disk carries data
    assert "--erase" in adopted.server("s3").reason
    ask(adopted, Provide(erase=(serial(adopted),)))
    adopted.walk()
    server = adopted.server("s3")
    assert (server.state, server.dirty) == (State.AVAILABLE, False)
    (new,) = adopted.database.evidence.records()[records:]
    assert [disk["serial"] for disk in new["document"]["disks"]] == [serial(adopted)]
    reason, had = new["document"]["reason"], adopted.allocation()
    assert reason["instance"] == f"lab/{REQUEST.key.instance}"
    assert (reason["allocation"], reason["who"]) == (had.id, ANN.who())
    assert reason["why"] == "clean after its last instance: deleted"


def test_no_list_erases_what_was_never_compared_with_a_baseline(adopted):
    delete(adopted)
    ask(adopted, Inspect())
    adopted.walk()
    adopted.database.servers.change("s3", baseline=None)
    operation = adopted.open(CLEAN, "s3", erase=[serial(adopted)])
    adopted.walk()
    record = adopted.operation(operation)
    assert (record.status, record.code) == ("failed", ErrorCode.FACTS_DIFFER)
    assert "erase" not in adopted.agents["s3"].done
    assert (adopted.state("s3"), adopted.server("s3").dirty) == (State.QUARANTINED, True)


# --- by plain SQL ------------------------------------------------------------------------------
def refused(world, *statements):
    with pytest.raises(sa.exc.IntegrityError) as caught:
        tried(world, statements)
    return str(caught.value.orig)


def tried(world, statements):
    with world.database.engine.begin() as connection:
        for each in statements:
            connection.exec_driver_sql(each)


def test_nobody_is_adopted_for_nobody_or_as_clean(running):
    to_active = "UPDATE server SET state = 'ACTIVE'{} WHERE name = 's3'"
    for more in ("", ", dirty = 1"):
        assert "nobody adopts it" in refused(running, to_active.format(more))


@pytest.mark.parametrize(
    "lacks", ["found_on = 0", "dirty = 0", "identity = NULL"], ids=lambda each: each.split()[0]
)
def test_an_allocation_begins_only_on_a_server_that_was_found_on_verified_and_dirty(running, lacks):
    insert = (
        "INSERT INTO allocation (id, site, instance, name, who, server, pool, phase, wanted,"
        " created_at, networks, known_to_caller, first_boot_asked, ever_powered, end_reason,"
        " off_confirmed, needs_reseed, truth) VALUES ('x', 'lab', 'i', '', 'w', 's3', 'a',"
        " 'active', 'unknown', 1, '[]', 0, 0, 0, '', 0, 0, '')"
    )
    dirty = "UPDATE server SET dirty = 1 WHERE name = 's3'"
    if lacks == "dirty = 0":
        assert "not kept" in refused(running, insert)
        return
    change = f"UPDATE server SET {lacks} WHERE name = 's3'"
    assert "not kept" in refused(running, dirty, change, insert)
