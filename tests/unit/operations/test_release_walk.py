"""A release from its first step to its last, where all goes well."""

import shutil

import pytest

from provisioner.evidence.chain import verify_chain
from provisioner.operations.power_steps import FENCE
from provisioner.servers.allocation import Phase
from provisioner.servers.model import Placement, Power, State
from provisioner.servers.operation import Status
from provisioner.testing import store
from provisioner.testing.store import DigestSigner
from tests.unit.operations.calls import RELEASE, at_each_step, calls, last
from tests.unit.operations.world import ONE, World


@pytest.fixture(scope="module")
def released(active_template, tmp_path_factory):
    """A world after one release, to be looked at only; with what was dirty at each step."""
    world = World(shutil.copytree(active_template, tmp_path_factory.mktemp("released") / "state"))
    world.evidence_before = world.database.evidence.records()
    world.seen = at_each_step(world, lambda: world.server().dirty)
    world.ask_for_release()
    assert world.state() is State.RELEASING
    world.walk()
    yield world
    world.close()
    assert world.trespasses == []


def test_a_release_makes_these_calls_in_this_order(released):
    assert released.journal(last(released)) == calls(released, RELEASE)


def test_a_released_server_is_available_clean_off_and_in_quarantine(released):
    active = released
    server, allocation = active.server(), active.allocation()
    assert (server.state, server.dirty, server.reason) == (State.AVAILABLE, False, "")
    assert allocation.phase is Phase.ENDED
    assert allocation.off_confirmed
    assert active.placement() is Placement.QUARANTINE
    assert active.power_of() is Power.OFF
    assert active.offers.offered == {}
    assert active.history()[-1] == ("release", Status.DONE)


def test_a_release_leaves_signed_evidence_that_names_instance_disk_and_times(released):
    active, operation = released, last(released)
    records = active.database.evidence.records()
    assert records[:-1] == active.evidence_before
    document = records[-1]["document"]
    assert document["identity"] == {"class": "nonce", "way": "media"}
    assert document["times"]["off"]["seconds"] >= active.times.wipe_off_s
    assert document["reason"]["instance"] == f"lab/{ONE}"
    assert document["reason"]["operation"] == operation
    assert document["reason"]["why"] == "deleted"
    assert [each["serial"] for each in document["disks"]] == [
        active.server().baseline.disks[0].serial
    ]
    signer = DigestSigner()
    checked = verify_chain(records, {signer.key_id(): signer.public}, signer.verify)
    assert checked.problems == ()


def test_dirty_is_cleared_with_the_evidence_and_not_before(released):
    seen = released.seen
    assert [step for step, dirty in seen.items() if not dirty] == [
        "withdraw",
        "agent-ends",
        "agent-off",
        "port-at-rest",
    ]


def test_two_owners_are_parted_by_a_rest_without_power(released):
    active = released
    effects = {each.step: each for each in active.database.effects.effects(last(active))}
    off = effects["off-for-good"].result["at"]
    assert effects["on-to-network"].begun - off >= active.times.wipe_off_s


def test_the_fence_is_rung_for_once_off_is_confirmed(active):
    operation = active.ask_for_release()
    active.do(active.walk_step(operation, "fence"))
    arrivals = active.database.effects.arrivals()
    assert {what for _, what in arrivals} == {FENCE, f"{FENCE}:off"}
    assert active.power_of() is Power.OFF
    assert active.allocation().off_confirmed


def test_the_released_server_can_be_deployed_again(active):
    active.ask_for_release()
    active.walk()
    active.ask_for_deployment(store.instance_request())
    active.walk()
    assert active.state() is State.ACTIVE
