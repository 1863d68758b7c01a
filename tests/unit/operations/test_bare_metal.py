"""The allocation model: every verb in every phase, and what of it is remembered."""

import asyncio
import shutil
from dataclasses import replace

import pytest

from provisioner.errors import ErrorCode, RackwrightError
from provisioner.operations.power import START
from provisioner.operations.quarantine import QUARANTINE
from provisioner.operations.release import RELEASE
from provisioner.operations.steps import new_operation
from provisioner.ports.controllers import PowerAct
from provisioner.servers.allocation import Phase
from provisioner.servers.model import Maintenance, Placement, Power, PowerReading, State
from provisioner.servers.operation import Status
from provisioner.testing import store
from tests.unit.operations import causes as c
from tests.unit.operations.world import REQUEST, World, tenant


def reserved(world):
    world.do(world.bare_metal.reserve(REQUEST))


def deploying(world):
    world.ask_for_deployment()


def half_deployed(world):
    """Create was answered at its deadline; the first boot is being watched."""
    operation = world.ask_for_deployment()
    world.do(world.walk_step(operation, "first-on"))
    world.database.allocations.mark(world.allocation().id, known_to_caller=True)


def failed(world):
    c.agent(silent_from="hello")(world)
    world.ask_for_deployment()
    world.walk()


def deleted(world):
    world.do(world.bare_metal.release(REQUEST.key, "lab", until=world.clock.wall()))


def unheard(world):
    world.database.allocations.mark(world.allocation().id, known_to_caller=False)


def quarantined(world):
    world.open(QUARANTINE)
    world.walk()


def still_running(world):
    """Quarantined, and nobody knows whether it is off."""
    c.silent(world)
    quarantined(world)


def released(world):
    deleted(world)
    world.walk()


PHASES = {
    "unknown": ("world", lambda _: None),
    "reserved": ("world", reserved),
    "deploying": ("world", deploying),
    "half-deployed": ("world", half_deployed),
    "failed": ("world", failed),
    "never created": ("world", deleted),
    "active": ("active", lambda _: None),
    "unheard of": ("active", unheard),
    "quarantined": ("active", quarantined),
    "still running": ("active", still_running),
    "deleted": ("active", deleted),
    "released": ("active", released),
}
WHOLE = {
    "prepare": {
        "unknown": "s1",
        "reserved": "s1",
        "deploying": "s1",
        "half-deployed": "s1",
        "failed": "s2",
        "never created": "INSTANCE_DELETED",
        "active": "s1",
        "unheard of": "s1",
        "quarantined": "s1",
        "still running": "s1",
        "deleted": "INSTANCE_DELETED",
        "released": "INSTANCE_DELETED",
    },
    "create": {
        "unknown": "DEADLINE",
        "reserved": "DEADLINE",
        "deploying": "DEADLINE",
        "half-deployed": "running on s1",
        "failed": "AGENT_SILENT",
        "never created": "INSTANCE_DELETED",
        "active": "DEADLINE",
        "unheard of": "DEADLINE",
        "quarantined": "INSTANCE_QUARANTINED",
        "still running": "INSTANCE_QUARANTINED",
        "deleted": "INSTANCE_DELETED",
        "released": "INSTANCE_DELETED",
    },
    "start": {
        "unknown": "INSTANCE_UNKNOWN",
        "reserved": "INSTANCE_BUSY",
        "deploying": "INSTANCE_BUSY",
        "half-deployed": "INSTANCE_BUSY",
        "failed": "INSTANCE_ENDED",
        "never created": "INSTANCE_DELETED",
        "active": "DEADLINE",
        "unheard of": "DEADLINE",
        "quarantined": "INSTANCE_QUARANTINED",
        "still running": "INSTANCE_QUARANTINED",
        "deleted": "INSTANCE_DELETED",
        "released": "INSTANCE_DELETED",
    },
    "stop": {
        "unknown": "nothing to stop",
        "reserved": "not installed yet: nothing was touched",
        "deploying": "not installed yet: nothing was touched",
        "half-deployed": "DEADLINE",
        "failed": "nothing to stop",
        "never created": "nothing to stop",
        "active": "DEADLINE",
        "unheard of": "not installed yet: nothing was touched",
        "quarantined": "off: its server is quarantined",
        "still running": "INSTANCE_QUARANTINED",
        "deleted": "nothing to stop",
        "released": "nothing to stop",
    },
    "delete": {
        "unknown": "no server to give back",
        "reserved": "the server was given back",
        "deploying": "the release goes on in the background",
        "half-deployed": "the release goes on in the background",
        "failed": "no server to give back",
        "never created": "no server to give back",
        "active": "the release goes on in the background",
        "unheard of": "the release goes on in the background",
        "quarantined": "the server was given back",
        "still running": "the server was given back",
        "deleted": "no server to give back",
        "released": "no server to give back",
    },
}


def ask(world, verb, request=REQUEST, within=0.0):
    """The verb's coroutine; `within` is what is left until its deadline."""
    until, bare_metal = world.within(within), world.bare_metal
    match verb:
        case "prepare":
            return bare_metal.reserve(request)
        case "create":
            return bare_metal.deploy(request, until=until)
        case "start":
            return bare_metal.power(request, PowerAct.ON, until=until)
        case "stop":
            return bare_metal.power(request, PowerAct.OFF, until=until)
        case "reboot":
            return bare_metal.power(request, PowerAct.CYCLE, until=until)
        case "delete":
            return bare_metal.release(request.key, request.who, until=until)


def said(answer):
    return getattr(answer, "text", None) or answer.server


def outcome(world, verb, **more):
    """What a verb answers, or its error's code."""
    try:
        return said(world.do(ask(world, verb, **more)))
    except RackwrightError as error:
        return str(error.code)


@pytest.fixture(scope="session")
def folders(free_template, active_template, tmp_path_factory):
    """A phase's folder, made once."""
    made, templates = {}, {"world": free_template, "active": active_template}

    def folder(phase):
        if phase not in made:
            template, bring = PHASES[phase]
            path = tmp_path_factory.mktemp("phase") / "state"
            world = World(shutil.copytree(templates[template], path))
            bring(world)
            world.close()
            made[phase] = path
        return made[phase]

    return folder


PAIRS = [(verb, phase) for verb in WHOLE for phase in PHASES] + [
    ("reboot", phase) for phase in ("unknown", "deploying", "active", "quarantined", "deleted")
]


@pytest.mark.parametrize(("verb", "phase"), PAIRS)
def test_every_verb_in_every_phase(folders, tmp_path, verb, phase):
    world = World(shutil.copytree(folders(phase), tmp_path / "state"))
    found = outcome(world, verb)
    calls, moves = world.machines["s1"].calls, world.ports.moves
    world.close()
    assert found == WHOLE["start" if verb == "reboot" else verb][phase]
    # verbs write intents: whoever walks operations acts
    assert (calls, moves) == ([], [])


# --- prepare ---------------------------------------------------------------------------------
def test_prepare_answers_the_servers_own_addresses_by_nic(world):
    kept = world.do(ask(world, "prepare"))
    assert kept.macs == {REQUEST.networks[0].nic_uuid: world.server().nics[0].mac}
    assert world.state() is State.RESERVED


def test_prepare_keeps_the_same_server_and_prolongs(world):
    world.do(ask(world, "prepare"))
    world.pass_time(1000.0)
    world.do(ask(world, "prepare"))
    assert world.allocation().reserved_until == world.within(world.times.reserve_for_s)
    assert world.state("s2") is State.AVAILABLE


def with_networks(count):
    network = REQUEST.networks[0]
    networks = tuple(replace(network, nic_uuid=str(n)) for n in range(count))
    return replace(REQUEST, networks=networks)


REFUSED = {
    "no pool": (replace(REQUEST, pool=None), "POOL_MISSING"),
    "unknown pool": (replace(REQUEST, pool="z"), "POOL_UNKNOWN"),
    "unknown image": (replace(REQUEST, image="other"), "IMAGE_UNKNOWN"),
    "too many networks": (with_networks(2), "NETWORKS_TOO_MANY"),
}
BY_CREATE_ALONE = {
    "no image": (replace(REQUEST, image=None), "IMAGE_MISSING"),
    "no VLAN": (
        replace(REQUEST, networks=(replace(REQUEST.networks[0], vlan=None),)),
        "VLAN_MISSING",
    ),
    "no network": (replace(REQUEST, networks=()), "VLAN_MISSING"),
}


@pytest.mark.parametrize("name", REFUSED | BY_CREATE_ALONE)
def test_a_wrong_request_is_refused_and_keeps_no_server(world, name):
    request, code = (REFUSED | BY_CREATE_ALONE)[name]
    if name in REFUSED:
        assert outcome(world, "prepare", request=request) == code
    else:
        assert outcome(world, "prepare", request=request) == "s1"
        world.do(ask(world, "delete"))
        request = replace(request, key=store.instance_request().key)
    assert outcome(world, "create", request=request) == code
    assert world.state() is State.AVAILABLE
    assert world.database.allocations.living() == ()


def test_an_image_of_the_map_that_is_not_imported_is_refused(world):
    pool = store.pool("a")
    pool = replace(pool, images={**pool.images, "new": "new"})
    world.database.catalogue.put_pool(pool)
    request = replace(REQUEST, image="new")
    assert outcome(world, "create", request=request) == "IMAGE_MISSING"


def test_a_pool_without_a_free_server_says_so(world):
    maintenance = Maintenance(reason="fans", by="ann", since=0.0)
    world.database.servers.change("s1", maintenance=maintenance)
    world.do(ask(world, "prepare", request=store.instance_request()))
    assert world.state("s2") is State.RESERVED
    assert outcome(world, "create") == "NO_CAPACITY"


def test_a_seed_that_is_refused_reserves_nothing(world):
    def refuse(_request):
        raise RackwrightError(ErrorCode.USER_DATA_TOO_LARGE, "too large")

    world.bare_metal.check_seed = refuse
    assert outcome(world, "create") == "USER_DATA_TOO_LARGE"
    assert world.state() is State.AVAILABLE


# --- create ----------------------------------------------------------------------------------
def test_create_answers_when_the_operation_has_ended(world):
    answer = world.live(ask(world, "create", within=3000.0))
    assert answer.text == "running on s1"
    assert world.state() is State.ACTIVE
    assert world.allocation().known_to_caller


def test_create_takes_the_reservation_over(world):
    world.do(ask(world, "prepare"))
    reserved_as = world.allocation().id
    world.live(ask(world, "create", within=3000.0))
    assert world.allocation().id == reserved_as


def test_create_at_its_deadline_fails_and_the_operation_goes_on(world):
    with pytest.raises(RackwrightError, match="DEADLINE"):
        world.live(ask(world, "create", within=5.0))
    assert not world.allocation().known_to_caller
    world.until(lambda: world.state() is State.ACTIVE)


def test_create_after_a_deadline_attaches_and_waits_again(world):
    with pytest.raises(RackwrightError, match="DEADLINE"):
        world.live(ask(world, "create", within=5.0))
    first = world.open_now().id
    answer = world.live(ask(world, "create", within=3000.0))
    assert answer.text == "running on s1"
    assert world.operation(first).status is Status.DONE
    assert world.kinds()[3:] == ["deploy"]


def test_create_at_its_deadline_succeeds_once_the_first_boot_was_asked_for(world):
    world.machines["s1"].console = ()
    operation = world.ask_for_deployment()
    world.do(world.walk_step(operation, "first-on"))
    answer = world.do(ask(world, "create"))
    assert answer.text == "running on s1"
    assert world.operation(operation).status is Status.OPEN
    assert world.allocation().known_to_caller


def test_a_failure_is_remembered_for_ten_minutes_and_answered_at_once(world):
    failed(world)
    began = world.clock.wall()
    for verb in ("create", "prepare", "create"):
        found = outcome(world, verb)
        assert found == ("AGENT_SILENT" if verb == "create" else "s2")
    assert world.clock.wall() == began
    assert world.kinds("s2")[3:] == []
    world.pass_time(world.times.failure_memory_s)
    answer = world.live(ask(world, "create", within=3000.0))
    assert answer.text == "running on s2"


def test_create_whose_deployment_fails_gets_its_code_and_reason(world):
    c.agent_fails("write_image", "DISK_FAILED")(world)
    with pytest.raises(RackwrightError, match="DISK_FAILED: as told"):
        world.live(ask(world, "create", within=3000.0))


def test_create_whose_deployment_is_deleted_says_so(world):
    async def both():
        creating = asyncio.ensure_future(ask(world, "create", within=3000.0))
        await world.clock.sleep(20.0)
        await ask(world, "delete", within=100.0)
        return await asyncio.gather(creating, return_exceptions=True)

    world.round_s = 1.0
    (error,) = world.live(both())
    assert error.code is ErrorCode.SUPERSEDED


def test_create_of_an_installed_instance_starts_it_and_never_images_it(active):
    active.power("off")
    request = replace(REQUEST, image=None)
    answer = active.live(ask(active, "create", request=request, within=3000.0))
    assert answer.text == "started"
    assert active.agents["s1"].done == []
    assert active.power_of() is Power.ON


def test_a_failed_stop_keeps_no_create_from_starting(active):
    c.silent(active)
    with pytest.raises(RackwrightError):
        active.power("off")
    active.machines["s1"].silent = False
    active.pass_time(300.0)  # the controller is left alone for a while
    answer = active.live(ask(active, "create", within=3000.0))
    assert answer.text == "started"


def test_two_creates_at_once_are_one_deployment(world):
    async def both():
        return await asyncio.gather(*(ask(world, "create", within=3000.0) for _ in range(2)))

    answers = world.live(both())
    assert [each.text for each in answers] == ["running on s1"] * 2
    assert world.kinds()[3:] == ["deploy"]
    assert world.state("s2") is State.AVAILABLE
    assert world.bare_metal.attached == {}


def test_64_creates_for_two_servers_give_two_and_62_clear_refusals(world):
    requests = [store.instance_request() for _ in range(64)]

    async def all_of_them():
        asked = (ask(world, "create", request=each, within=3000.0) for each in requests)
        return await asyncio.gather(*asked, return_exceptions=True)

    found = world.live(all_of_them())
    told = sorted(each.text for each in found if not isinstance(each, Exception))
    assert told == ["running on s1", "running on s2"]
    errors = [each for each in found if isinstance(each, Exception)]
    assert {each.code for each in errors} == {ErrorCode.NO_CAPACITY}
    assert len(world.database.allocations.living()) == 2


def test_a_seed_of_a_create_that_came_second_is_not_kept(world):
    async def both():
        opened = (world.bare_metal._open_deployment(REQUEST) for _ in range(2))
        return await asyncio.gather(*opened)

    first, second = world.do(both())
    assert first.operation == second.operation
    assert world.seeds() == [first.operation]


# --- stop ------------------------------------------------------------------------------------
def test_a_stop_before_cloudstack_has_it_touches_nothing_and_begins_a_grace(world):
    world.ask_for_deployment()
    assert outcome(world, "stop") == "not installed yet: nothing was touched"
    grace = world.allocation().stop_grace_until
    assert grace == world.within(world.times.stop_grace_s)
    assert world.open_now().kind == "deploy"


def grow_old(world, seconds):
    """Time passes, and housekeeping looks."""
    world.pass_time(seconds)
    world.do(world.housekeeping.round())


@pytest.mark.parametrize("phase", ["reserved", "deploying", "unheard of"])
def test_after_the_grace_the_allocation_ends_and_the_server_is_released(request, phase):
    fixture, bring = PHASES[phase]
    world = request.getfixturevalue(fixture)
    bring(world)
    world.do(ask(world, "stop"))
    grow_old(world, world.times.stop_grace_s - 5.0)
    assert world.allocation().phase is not Phase.ENDED
    grow_old(world, 10.0)
    assert world.allocation().phase is Phase.ENDED
    assert "not asked for again" in world.allocation().end_reason
    world.walk()
    assert (world.state(), world.server().dirty) == (State.AVAILABLE, False)
    # no tombstone: the instance may come again
    assert outcome(world, "prepare") == "s1"


def test_a_create_within_the_grace_takes_it_back(world):
    world.ask_for_deployment()
    world.do(ask(world, "stop"))
    assert outcome(world, "create") == "DEADLINE"
    assert world.allocation().stop_grace_until is None
    grow_old(world, 2 * world.times.stop_grace_s)
    assert world.allocation().phase is Phase.ACTIVE


def test_a_stop_during_a_create_ends_nothing_while_it_runs_nor_after_its_success(world):
    c.agent(takes_s=100.0)(world)

    async def stopped_in_the_middle():
        creating = asyncio.ensure_future(ask(world, "create", within=3000.0))
        await world.clock.sleep(30.0)
        await ask(world, "stop")
        await world.clock.sleep(world.times.stop_grace_s + 10.0)
        await world.housekeeping.round()
        return await creating

    answer = world.live(stopped_in_the_middle())
    assert answer.text == "running on s1"
    grow_old(world, 10.0)
    allocation = world.allocation()
    assert (allocation.phase, allocation.stop_grace_until) == (Phase.ACTIVE, None)


def test_a_stop_counts_for_nothing_once_status_said_on(active):
    unheard(active)
    active.do(ask(active, "stop"))
    note(active, Power.ON)
    view = active.do(active.bare_metal.observe(REQUEST.key))
    assert view.says_on()
    grow_old(active, 2 * active.times.stop_grace_s)
    assert active.allocation().phase is Phase.ACTIVE
    assert active.allocation().known_to_caller


def note(world, power, name="s1"):
    reading = PowerReading(power=power, at=world.clock.wall(), source="loop")
    world.database.servers.note_readings({name: reading})


def test_a_stop_while_the_first_boot_is_watched_waits_for_it_and_stops(world):
    half_deployed(world)
    world.waiting["s1"].append(world.open_now().id)
    answer = world.power("off")
    assert answer.text == "off, its port is in quarantine"
    assert world.history()[-2:] == [("deploy", Status.DONE), ("power", Status.DONE)]
    assert world.power_of() is Power.OFF


def test_a_stop_while_the_first_boot_is_quarantined_says_so_and_ends(world):
    half_deployed(world)
    c.silent(world)
    world.open(QUARANTINE)
    world.walk()
    assert outcome(world, "stop") == "INSTANCE_QUARANTINED"
    assert outcome(world, "create") == "INSTANCE_QUARANTINED"


def test_a_stop_whose_first_boot_fails_while_it_waits_has_nothing_to_stop(world):
    half_deployed(world)
    world.waiting["s1"].append(world.open_now().id)
    world.machines["s1"].console = ()
    c.machine(power=Power.OFF)(world)
    world.kept.files.clear()
    assert world.power("off").text == "nothing to stop"
    assert world.state() is State.QUARANTINED


def test_a_stop_supersedes_a_start_that_is_running(active):
    active.power("off")

    async def both():
        starting = asyncio.ensure_future(ask(active, "start", within=3000.0))
        await active.clock.sleep(0.5)
        answer = await ask(active, "stop", within=3000.0)
        return answer, await asyncio.gather(starting, return_exceptions=True)

    active.round_s = 1.0
    answer, (error,) = active.live(both())
    assert answer.text == "off, its port is in quarantine"
    assert error.code is ErrorCode.SUPERSEDED
    assert active.power_of() is Power.OFF
    assert active.placement() is Placement.QUARANTINE
    assert active.allocation().wanted is Power.OFF


def test_a_command_that_cannot_be_opened_changes_nothing_that_is_wanted(active):
    before, released = active.allocation(), new_operation(RELEASE, "x")
    active.database.allocations.end_and_open(REQUEST.key, "x", released, tombstone=False, now=0.0)
    with pytest.raises(RackwrightError):
        active.do(active.bare_metal._command(before, START, REQUEST, Power.OFF, ()))
    after = active.allocation()
    assert (after.wanted, after.commanded_at) == (before.wanted, before.commanded_at)


def test_a_stop_that_does_not_reach_off_fails_and_keeps_the_instance(active):
    c.never_off(active)
    with pytest.raises(RackwrightError, match="POWER_NOT_REACHED"):
        active.power("off")
    assert active.state() is State.ACTIVE
    assert active.allocation().phase is Phase.ACTIVE
    assert active.placement() is Placement.TENANT
    assert active.kinds()[-1] == "power"


# --- start and reboot ---------------------------------------------------------------------------
def test_a_start_uses_the_vlans_of_its_own_payload(active):
    active.power("off")
    network = replace(REQUEST.networks[0], vlan=202)
    active.power("on", replace(REQUEST, networks=(network,)))
    assert active.leads() == tenant(202)
    assert active.allocation().networks[0].vlan == 202
    assert not active.allocation().needs_reseed


def test_a_start_without_networks_uses_the_last_ones(active):
    active.power("off")
    active.power("on", replace(REQUEST, networks=()))
    assert active.leads() == tenant(101)


@pytest.mark.parametrize("change", [{"address": "10.1.1.9", "prefix": 24}, {"gateway": "10.1.1.1"}])
def test_a_changed_address_needs_a_reseed_and_stops_nothing(active, change):
    network = replace(REQUEST.networks[0], **change)
    active.power("cycle", replace(REQUEST, networks=(network,)))
    assert active.allocation().needs_reseed
    active.power("cycle")
    assert active.allocation().needs_reseed


def test_a_start_that_fails_leaves_the_instance_and_may_be_asked_again(active):
    active.power("off")
    c.deaf("on")(active)
    with pytest.raises(RackwrightError, match="POWER_NOT_REACHED"):
        active.power("on")
    assert (active.state(), active.allocation().phase) == (State.ACTIVE, Phase.ACTIVE)
    active.machines["s1"].deaf_to.clear()
    assert active.power("on").text == "started"


def test_more_networks_than_ports_fail_a_start_before_anything_moves(active):
    active.power("off")
    moves = len(active.ports.moves)
    with pytest.raises(RackwrightError, match="NETWORKS_TOO_MANY"):
        active.power("on", with_networks(2))
    assert len(active.ports.moves) == moves
    assert active.power_of() is Power.OFF


def test_readings_before_a_command_say_nothing(active):
    note(active, Power.ON)
    active.pass_time(1.0)
    active.power("cycle")
    assert active.allocation().commanded_at is not None
    view = active.do(active.bare_metal.observe(REQUEST.key))
    assert view.on_confirmed  # what the operation itself read is newer


# --- delete ------------------------------------------------------------------------------------
def test_delete_answers_once_off_is_confirmed_and_the_wipe_goes_on(active):
    began = active.clock.wall()
    answer = active.live(ask(active, "delete", within=24.0))
    assert answer.text == "off is confirmed; the server is being wiped"
    assert active.clock.wall() - began <= 10.0
    active.until(lambda: active.state() is State.AVAILABLE)


def test_delete_answers_after_ten_seconds_whatever_the_controller_does(active):
    c.silent(active)
    began = active.clock.wall()
    answer = active.live(ask(active, "delete", within=24.0))
    assert active.clock.wall() - began <= 10.5
    assert answer.text in {
        "its controller does not answer: its port is shut",
        "the release goes on in the background",
    }
    active.until(lambda: active.state() is State.QUARANTINED)


def test_delete_of_a_quarantined_instance_leaves_it_quarantined_and_dirty(active):
    quarantined(active)
    assert outcome(active, "delete") == "the server was given back"
    assert active.allocation().phase is Phase.ENDED
    assert (active.state(), active.server().dirty) == (State.QUARANTINED, True)
    assert active.open_now() is None


def test_delete_while_a_quarantine_runs_lets_it_go_on(active):
    operation = active.open(QUARANTINE)
    active.do(ask(active, "delete"))
    active.walk()
    assert active.operation(operation).status is Status.DONE
    assert active.power_of() is Power.OFF
    assert active.state() is State.QUARANTINED


def test_delete_of_a_reservation_frees_the_server_at_once(world):
    reserved(world)
    world.do(ask(world, "delete"))
    assert world.state() is State.AVAILABLE
    assert world.kinds()[3:] == []


# --- what ends by itself -----------------------------------------------------------------------
def test_a_reservation_ends_after_its_time(world):
    reserved(world)
    grow_old(world, world.times.reserve_for_s - 10.0)
    assert world.state() is State.RESERVED
    grow_old(world, 20.0)
    assert world.state() is State.AVAILABLE
    assert world.allocation().end_reason == "the reservation is over"


def test_one_allocation_that_cannot_end_keeps_no_other_from_its_end(world):
    other = store.instance_request()
    world.do(ask(world, "prepare"))
    world.do(ask(world, "prepare", request=other))
    end = world.database.allocations.end_and_open

    class Stubborn:
        def __getattr__(self, name):
            return getattr(world.database.allocations, name)

        def end_and_open(self, key, *more, **fields):
            if key == REQUEST.key:
                raise RackwrightError(ErrorCode.DATABASE_FAILED, "as told")
            return end(key, *more, **fields)

    world.housekeeping.records = replace(world.records, allocations=Stubborn())
    grow_old(world, world.times.reserve_for_s + 1.0)
    assert world.allocation().phase is Phase.RESERVED
    assert world.allocation(other).phase is Phase.ENDED


def test_a_create_that_arrives_as_housekeeping_looks_is_respected(world):
    world.ask_for_deployment()
    world.do(ask(world, "stop"))
    world.pass_time(1.0)
    stale = world.allocation()
    world.do(world.bare_metal._mark(stale, stop_grace_until=None))
    old = replace(stale, stop_grace_until=0.0)
    world.do(world.housekeeping._end(old, "late"))
    assert world.allocation().phase is Phase.DEPLOYING


# --- held -----------------------------------------------------------------------------------
@pytest.mark.parametrize("verb", ["prepare", "create", "start", "stop", "reboot", "delete"])
def test_a_held_service_refuses_everything_but_looking(active, verb):
    active.bare_metal.held = "restored"
    assert outcome(active, verb) == "SERVICE_HELD"
    view = active.do(active.bare_metal.observe(REQUEST.key))
    assert (view.phase, view.held) == (Phase.ACTIVE, True)
    nobody = active.do(active.bare_metal.observe(store.instance_request().key))
    assert (nobody.phase, nobody.held) == (None, True)


def test_a_held_service_ends_nothing_by_itself(world):
    reserved(world)
    world.bare_metal.held = "restored"
    grow_old(world, 2 * world.times.reserve_for_s)
    assert world.state() is State.RESERVED
