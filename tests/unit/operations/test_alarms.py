"""A token asked for twice stops the operation at once."""

import pytest

from provisioner.errors import ErrorCode
from provisioner.operations.bell import CLOSED
from provisioner.servers.allocation import Phase
from provisioner.servers.model import Placement, Power, State
from provisioner.servers.operation import Status

ALARM = "alarm:token"


def test_an_alarm_closes_the_deployment_and_quarantines_the_server(world):
    operation = world.ask_for_deployment()
    world.do(world.walk_step(operation, "agent-called-in"))
    world.alarms.ring(operation, ALARM)
    record = world.operation(operation)
    assert (record.status, record.code) == (Status.FAILED, ErrorCode.BOOT_TOKEN_TAKEN)
    assert world.state() is State.QUARANTINED
    assert world.allocation().phase is Phase.ENDED
    assert world.do(world.runner.run(operation, "same-machine")) == "failed"
    world.walk()
    assert world.power_of() is Power.OFF
    assert world.placement() is Placement.QUARANTINE
    assert world.offers.offered == {}
    assert world.agents["s1"].done == []


def test_the_log_says_of_an_alarm_what_the_operation_says(world, caplog):
    """The step that waited for the agent knows of none; that is not why it ended."""
    world.agents["s1"].silent_from = "hello"
    operation = world.ask_for_deployment()
    world.until(lambda: "on-to-network-for-tenant" in world.results(operation))
    world.pass_time(15.0)
    world.alarms.ring(operation, ALARM)
    world.until(lambda: world.power_of() is Power.OFF)
    assert world.operation(operation).code is ErrorCode.BOOT_TOKEN_TAKEN
    said = [each for each in caplog.records if getattr(each, "code", None)]
    assert {each.code for each in said} == {ErrorCode.BOOT_TOKEN_TAKEN}
    assert "step agent-called-in was ended: the boot's token was asked for" in caplog.text
    assert "AGENT_SILENT" not in caplog.text


def test_an_alarm_in_the_middle_of_an_order_ends_the_wait_for_it(world):
    world.agents["s1"].takes_s = 100.0
    operation = world.ask_for_deployment()
    world.until(lambda: "write-image" in world.results(operation))
    world.agents["s1"].takes_s = 3000.0
    began = world.clock.wall()
    world.alarms.ring(operation, ALARM)
    world.until(lambda: world.power_of() is Power.OFF)
    assert world.clock.wall() - began < 30.0
    assert world.state() is State.QUARANTINED


@pytest.mark.parametrize("ring", [ALARM, "alarm:other"])
def test_an_alarm_of_an_operation_that_has_ended_changes_nothing(active, ring):
    deploy = next(each for each in active.database.operations.operations() if each.kind == "deploy")
    active.alarms.ring(deploy.id, ring)
    assert active.operation(deploy.id) == deploy
    assert active.state() is State.ACTIVE
    assert active.open_now() is None


def test_what_is_no_alarm_is_rung_on(world):
    operation = world.ask_for_deployment()
    world.alarms.ring(operation, "agent")
    world.alarms.heard(operation)
    assert (operation, "agent") in world.database.effects.arrivals()
    assert operation in world.bell.heard_at
    assert world.operation(operation).status is Status.OPEN


def test_whoever_waits_for_the_end_hears_of_an_alarm(world):
    operation = world.ask_for_deployment()

    async def wait():
        waiting = world.loop.create_task(
            world.bell.wait(operation, CLOSED, until=world.within(1000.0))
        )
        await world.clock.sleep(0.0)
        world.alarms.ring(operation, ALARM)
        return await waiting

    began = world.clock.wall()
    assert world.do(wait())
    assert world.clock.wall() - began < 1.0
