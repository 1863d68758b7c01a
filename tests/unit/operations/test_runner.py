"""One step: what is counted, what is kept, what leaves it."""

from dataclasses import replace

import pytest

from provisioner.errors import ErrorCode
from provisioner.operations.lists import BY_NAME, STEPS
from provisioner.operations.steps import Step
from provisioner.servers.model import State
from provisioner.servers.operation import Status
from tests.unit.operations import causes as c


class Counted:
    """runner.Watch that remembers."""

    def __init__(self):
        self.stages, self.operations = [], []

    def stage(self, operation, stage, outcome, seconds):
        assert seconds >= 0
        self.stages.append((str(operation), stage, outcome))

    def operation(self, operation, outcome):
        self.operations.append((str(operation), str(outcome)))


@pytest.fixture
def watch(world):
    world.runner.watch = Counted()
    return world.runner.watch


def test_stages_and_operations_are_counted(world, watch):
    world.ask_for_deployment()
    world.walk()
    assert watch.stages == [("deploy", name, "done") for name in BY_NAME["deploy/1"].names()]
    assert watch.operations == [("deploy", "done")]


def test_a_failed_stage_is_counted_as_failed(world, watch):
    c.agent_fails("write_image", "DISK_FAILED")(world)
    world.ask_for_deployment()
    world.walk()
    assert ("deploy", "write-image", "failed") in watch.stages
    assert watch.operations == [("deploy", "failed"), ("quarantine", "done")]


def test_what_was_superseded_is_counted_as_such(world, watch):
    world.ask_for_deployment()
    world.ask_for_release()
    world.walk()
    assert watch.operations == [("deploy", "superseded"), ("release", "done")]


def test_the_dhcp_servers_lines_are_kept_beside_the_operation(world):
    operation = world.ask_for_deployment()
    world.walk()
    mac = world.server().provisioning_nic().mac
    assert f"offer {mac}" in world.kept.files[operation, "dhcp.log"].decode()


def test_dhcp_lines_that_cannot_be_had_keep_no_operation_from_its_end(world):
    async def fail(*_):
        raise OSError(13, "Permission denied")

    world.offers.lines = fail
    operation = world.ask_for_deployment()
    world.walk()
    assert world.operation(operation).status is Status.DONE


def with_step(world, name, act, limit=1.0):
    step = Step(name=name, act=act, limit=limit)
    world.runner.steps = {**STEPS, name: step}


def test_a_bug_in_a_step_leaves_no_exception_and_quarantines(world):
    async def buggy(_work):
        raise KeyError("secret of the tenant")

    with_step(world, "write-seed", buggy)
    operation = world.ask_for_deployment()
    world.walk()
    ended = world.operation(operation)
    assert (ended.code, ended.ending) == (ErrorCode.CANNOT_TELL, "machine")
    assert "write-seed" in ended.brief
    assert "secret" not in ended.brief
    assert "KeyError" in ended.detail
    assert world.state() is State.QUARANTINED


def test_a_step_that_never_ends_is_cut_off(world):
    async def endless(work):
        await work.doors.clock.sleep(1e9)

    world.pass_time(world.runner.grace_s)
    with_step(world, "input", endless)
    began = world.clock.wall()
    operation = world.ask_for_deployment()
    world.walk()
    assert world.operation(operation).code is ErrorCode.CANNOT_TELL
    assert world.clock.wall() - began < 120.0


def test_a_step_that_this_release_lacks_quarantines(world):
    operation = world.ask_for_deployment()
    world.runner.steps = {name: step for name, step in STEPS.items() if name != "off"}
    world.walk()
    assert world.operation(operation).code is ErrorCode.CANNOT_TELL


def test_a_result_that_is_on_record_is_not_acted_for_again(world):
    operation = world.ask_for_deployment()
    world.do(world.walk_step(operation, "off"))
    calls = list(world.machines["s1"].calls)
    assert world.do(world.runner.run(operation, "off")) == "done"
    assert world.machines["s1"].calls == calls


def test_an_ending_that_the_guards_refuse_is_a_quarantine(world):
    """The wipe's last step ends it as done, and no evidence is there."""
    operation = world.ask_for_deployment()
    world.do(world.walk_step(operation, "on-to-network-for-tenant"))
    released = world.ask_for_release()

    async def pretend(_work):
        return {}

    names = BY_NAME["release/2"].names()
    world.runner.steps = {name: replace(STEPS[name], act=pretend) for name in names} | {
        name: STEPS[name] for name in BY_NAME["quarantine/1"].names()
    }
    world.walk()
    assert world.operation(released).status is Status.FAILED
    assert (world.state(), world.server().dirty) == (State.QUARANTINED, True)
