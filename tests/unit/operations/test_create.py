"""Prepare and create: reservations, deadlines, memories, and two at once."""

import asyncio
from dataclasses import replace

import pytest

from cloudstack_ext.power_view import PowerState, power_state
from provisioner.errors import ErrorCode, RackwrightError
from provisioner.servers.model import Maintenance, PoolPolicy, Power, State
from provisioner.servers.operation import Status
from provisioner.testing import store
from tests.unit.operations import causes as c
from tests.unit.operations.asking import (
    ask,
    failed,
    outcome,
    with_networks,
)
from tests.unit.operations.world import REQUEST


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


def small_disk(world, *names):
    for name in names:
        found = store.replace_disks(world.server(name).baseline, bytes=2**20)
        world.database.servers.change(name, baseline=found)


def test_a_server_whose_root_disk_does_not_take_the_image_is_left_out(world):
    small_disk(world, "s1")
    assert world.live(ask(world, "create", within=1440.0)).text == "running on s2"
    assert (world.state(), world.kinds()[3:]) == (State.AVAILABLE, [])


def test_where_no_server_takes_the_image_create_says_why_for_each_and_opens_nothing(world):
    small_disk(world, "s1", "s2")
    with pytest.raises(RackwrightError) as caught:
        world.live(ask(world, "create"))
    assert caught.value.code is ErrorCode.DISK_TOO_SMALL
    assert all(f"{name}: DISK_TOO_SMALL: disk" in caught.value.brief for name in ("s1", "s2"))
    assert world.kinds()[3:] == world.kinds("s2")[3:] == []
    assert world.database.allocations.living() == ()


def test_a_server_whose_root_disk_rule_is_ambiguous_is_left_out_of_a_reservation_too(world):
    c.baseline(c.with_disk())(world)
    assert world.do(ask(world, "prepare")).server == "s2"


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


def test_a_pool_may_have_it_succeed_then_and_a_stop_waits_for_the_installation(world):
    pool = replace(store.pool("a"), policy=PoolPolicy(at_deadline="installing"))
    world.database.catalogue.put_pool(pool)
    answer = world.live(ask(world, "create", within=5.0))
    assert answer.text == "installing on s1; it goes on"
    assert world.allocation().known_to_caller
    assert power_state(world.do(world.bare_metal.observe(REQUEST.key))) is PowerState.ON
    with pytest.raises(RackwrightError, match="its installation goes on"):
        world.power("off", within=5.0)
    world.until(lambda: world.state() is State.ACTIVE)
    assert world.power("off").text == "off, its port is in quarantine"


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
