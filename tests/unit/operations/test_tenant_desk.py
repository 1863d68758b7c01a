"""Questions and acts of whoever has an instance."""

import asyncio
from dataclasses import replace

import pytest

from provisioner.errors import RackwrightError
from provisioner.operations.consoles import CONSOLE
from provisioner.operations.quarantine import QUARANTINE
from provisioner.operations.tenant_desk import Tenants
from provisioner.ports.controllers import PowerAct
from provisioner.servers.allocation import InstanceKey, Phase
from provisioner.servers.model import Maintenance, Placement, Power, State
from provisioner.servers.operation import Status
from tests.unit.operations import causes as c
from tests.unit.operations.asking import deleted, failed, note, reserved
from tests.unit.operations.world import REQUEST

KEY = REQUEST.key
OTHER = InstanceKey(site=KEY.site, instance="22222222-2222-2222-2222-222222222222")
ADMIN = "lab: system (Root Admin)"


def desk(world, **more):
    return Tenants(
        records=world.records,
        bell=world.bell,
        clock=world.clock,
        times=world.times,
        kept=world.kept,
        certify=lambda record, key, since: {"of": record, "for": key, "since": since},
        **more,
    )


def cycle(world, within=6.0, **more):
    return desk(world, **more).power_cycle(REQUEST, until=world.within(within))


def refused(world, act):
    with pytest.raises(RackwrightError) as caught:
        world.live(act)
    return str(caught.value.code)


def released(world):
    deleted(world)
    world.walk()


# --- what is remembered --------------------------------------------------------------------------
def test_of_an_instance_that_nobody_heard_of_there_is_no_story(world):
    story = world.do(desk(world).story(KEY))
    assert story.view.phase is None
    assert (story.operations, story.newest, story.reading, story.port) == ((), None, None, None)


def test_the_story_of_an_instance_that_runs(active):
    note(active, Power.ON)
    story = active.do(desk(active).story(KEY))
    assert story.view.phase is Phase.ACTIVE
    assert [each.kind for each in story.operations] == ["deploy"]
    assert (story.newest.stage, story.newest.number) == ("alive", 17)
    assert story.reading.power is Power.ON
    assert story.port.placement is Placement.TENANT


def test_after_a_stop_its_network_leads_nowhere(active):
    active.power("off")
    assert active.do(desk(active).story(KEY)).port.placement is Placement.QUARANTINE


def test_a_failed_installation_is_told_and_of_its_former_machine_nothing(world):
    failed(world)
    story = world.do(desk(world).story(KEY))
    assert [(each.kind, each.status) for each in story.operations] == [
        ("quarantine", "done"),
        ("deploy", "failed"),
    ]
    assert (story.reading, story.port) == (None, None)


def test_operations_of_the_next_tenant_are_not_told(active):
    released(active)
    next_one = replace(REQUEST, key=OTHER)
    active.ask_for_deployment(next_one)
    active.walk()
    assert active.allocation(next_one).server == "s1"
    kinds = [each.kind for each in active.do(desk(active).story(KEY)).operations]
    assert kinds == ["release", "deploy"]
    mine = {each.id for each in active.do(desk(active).story(OTHER)).operations}
    assert not mine & {each.id for each in active.do(desk(active).story(KEY)).operations}


def test_a_console_is_of_the_newest_operation_that_has_one_and_of_nobody_else_s(active):
    (deploy,) = active.do(desk(active).story(KEY)).operations
    active.kept.files.clear()
    assert active.do(desk(active).console(KEY, 5)).lines == ()
    active.kept.append(deploy.id, CONSOLE, b"".join(b"line %d\r\n" % n for n in range(9)))
    console = active.do(desk(active).console(KEY, 5))
    assert console.operation == deploy.id
    assert console.lines == tuple(f"line {n}" for n in range(4, 9))
    assert active.do(desk(active).console(OTHER, 5)).lines == ()


@pytest.mark.parametrize("ask", ["inventory", "certificate"])
def test_what_is_the_machine_s_is_told_to_whoever_has_it_alone(active, ask):
    assert active.do(getattr(desk(active), ask)(KEY))
    assert refused(active, getattr(desk(active), ask)(OTHER)) == "INSTANCE_UNKNOWN"
    released(active)
    assert refused(active, getattr(desk(active), ask)(KEY)) == "INSTANCE_ENDED"


def test_a_certificate_is_of_the_last_wipe_before_this_tenancy(active):
    first = active.do(desk(active).certificate(KEY))["of"]
    released(active)
    next_one = replace(REQUEST, key=OTHER)
    active.ask_for_deployment(next_one)
    active.walk()
    second = active.do(desk(active).certificate(OTHER))
    assert second["of"]["sequence"] > first["sequence"]
    assert KEY.instance in second["of"]["document"]["reason"]["instance"]
    assert (second["for"], second["since"]) == (OTHER, active.allocation(next_one).created_at)


def test_a_machine_that_was_adopted_has_no_certificate_of_its_namesake_s_wipe(active):
    active.database.servers.change("s1", baseline=None)
    assert refused(active, desk(active).certificate(KEY)) == "EVIDENCE_UNKNOWN"


# --- power-cycle ---------------------------------------------------------------------------------
def test_a_power_cycle_is_a_reboot_into_the_same_networks(active):
    leads, booted = active.leads(), len(active.machines["s1"].booted_from)
    walk = active.live(cycle(active, within=600.0))
    assert (walk.operation.steps_name, walk.operation.status) == ("reboot/1", Status.DONE)
    assert len(active.machines["s1"].booted_from) == booted + 1
    assert active.leads() == leads
    assert active.power_of() is Power.ON


def test_a_power_cycle_answers_in_time_and_goes_on(active):
    active.machines["s1"].deaf_to.add(PowerAct.SOFT_OFF)
    began = active.clock.monotonic()
    walk = active.live(cycle(active))
    assert active.clock.monotonic() - began <= 6.5
    assert (walk.operation.status, walk.stage) == (Status.OPEN, "off-gracefully")
    again = active.live(cycle(active))
    assert again.operation.id == walk.operation.id
    active.until(lambda: active.open_now() is None)
    assert active.operation(walk.operation.id).status is Status.DONE
    assert active.power_of() is Power.ON


def test_a_power_cycle_attaches_to_a_reboot_that_goes_on(active):
    async def both():
        until = active.within(600.0)
        reboot = asyncio.ensure_future(
            active.bare_metal.power(REQUEST, PowerAct.CYCLE, until=until)
        )
        await active.clock.sleep(1.0)
        walk = await desk(active).power_cycle(REQUEST, until=until)
        return (await reboot).text, walk.operation.status

    before = len(active.history())
    assert active.live(both()) == ("rebooted", Status.DONE)
    assert len(active.history()) == before + 1


def test_a_power_cycle_beside_another_command_is_refused_and_ends_nothing(active):
    """Here the stop has not said yet what is wanted."""

    async def both():
        until = active.within(600.0)
        first = asyncio.ensure_future(active.bare_metal.power(REQUEST, PowerAct.OFF, until=until))
        await active.clock.sleep(1.0)
        active.database.allocations.mark(active.allocation().id, wanted=Power.ON)
        try:
            return await desk(active).power_cycle(REQUEST, until=until)
        except RackwrightError as error:
            return str(error.code), (await first).text

    assert active.live(both()) == ("INSTANCE_BUSY", "off, its port is in quarantine")


def test_what_is_stopped_is_not_switched_on_by_a_power_cycle(active):
    active.power("off")
    pressed = len(active.machines["s1"].booted_from)
    assert refused(active, cycle(active)) == "STATE_CONFLICT"
    assert len(active.machines["s1"].booted_from) == pressed
    assert active.placement() is Placement.QUARANTINE


def test_a_stop_takes_over_a_power_cycle_and_what_is_wanted_is_the_stop_s(active):
    active.machines["s1"].deaf_to.add(PowerAct.SOFT_OFF)
    walk = active.live(cycle(active))
    active.power("off")
    assert active.operation(walk.operation.id).status is Status.SUPERSEDED
    assert active.allocation().wanted is Power.OFF
    assert active.power_of() is Power.OFF


class StopBeside:
    """Operations of a store in which a stop says what is wanted right behind each opening."""

    def __init__(self, world):
        self.world, self.real = world, world.records.operations

    def __getattr__(self, name):
        return getattr(self.real, name)

    def open(self, *given, **more):
        opened = self.real.open(*given, **more)
        self.world.database.allocations.mark(self.world.allocation().id, wanted=Power.OFF)
        return opened


def test_a_power_cycle_never_says_what_is_wanted(active):
    """Actions pass CloudStack's queue by: a stop may come between any two lines of it."""
    beside = desk(active)
    beside = replace(beside, records=replace(active.records, operations=StopBeside(active)))
    active.live(beside.power_cycle(REQUEST, until=active.within(1.0)))
    assert active.allocation().wanted is Power.OFF


def test_a_power_cycle_that_fails_says_why(active):
    c.deaf("on")(active)
    assert refused(active, cycle(active, within=3600.0)) == "POWER_NOT_REACHED"
    assert active.state() is State.ACTIVE


@pytest.mark.parametrize(
    ("begin", "fixture", "code"),
    [
        (lambda _: None, "world", "INSTANCE_UNKNOWN"),
        (reserved, "world", "INSTANCE_BUSY"),
        (deleted, "active", "INSTANCE_DELETED"),
        (lambda w: (w.open(QUARANTINE), w.walk()), "active", "INSTANCE_QUARANTINED"),
    ],
)
def test_a_power_cycle_of_what_does_not_run(request, begin, fixture, code):
    world = request.getfixturevalue(fixture)
    begin(world)
    assert refused(world, cycle(world)) == code


# --- cordon --------------------------------------------------------------------------------------
def test_a_cordon_keeps_the_machine_back_after_the_instance_and_an_uncordon_ends_it(active):
    active.do(desk(active).cordon(KEY, ADMIN, "noise"))
    assert active.server().maintenance.reason == "noise"
    assert active.power_of() is Power.ON
    active.do(desk(active).cordon(KEY, ADMIN, "more noise"))
    assert active.server().maintenance.reason == "more noise"
    active.do(desk(active).cordon(KEY, ADMIN, None))
    assert active.server().maintenance is None
    assert active.do(desk(active).cordon(KEY, ADMIN, None)).text == "it was not cordoned"


def test_a_cordoned_machine_is_wiped_and_handed_to_nobody(active):
    active.do(desk(active).cordon(KEY, ADMIN, "noise"))
    released(active)
    assert (active.state(), active.server().dirty) == (State.AVAILABLE, False)
    next_one = replace(REQUEST, key=OTHER)
    active.ask_for_deployment(next_one)
    assert active.allocation(next_one).server == "s2"


@pytest.mark.parametrize("by", ["operator ann (uid 1000)", "other: system (Root Admin)"])
@pytest.mark.parametrize("reason", ["noise", None])
def test_what_somebody_else_keeps_back_stays_as_it_is(active, by, reason):
    before = Maintenance(reason="a fan", by=by, since=1.0)
    active.database.servers.change("s1", maintenance=before)
    assert refused(active, desk(active).cordon(KEY, ADMIN, reason)) == "STATE_CONFLICT"
    assert active.server().maintenance == before


def test_a_held_service_answers_and_changes_nothing(active):
    held = desk(active, held="the marker is ahead")
    assert active.do(held.story(KEY)).view.held
    for act in (held.cordon(KEY, ADMIN, "x"), held.power_cycle(REQUEST, until=0.0)):
        assert refused(active, act) == "SERVICE_HELD"
    assert active.server().maintenance is None
