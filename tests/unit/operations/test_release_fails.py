"""Each step of a release fails in turn: nothing unproven is ever free."""

from dataclasses import replace

import pytest

from cloudstack_ext.power_view import PowerState, power_state
from provisioner.errors import ErrorCode
from provisioner.operations.quarantine import QUARANTINE
from provisioner.operations.release import CLEAN
from provisioner.servers.model import ExcludedDisk, Placement, Power, State
from provisioner.servers.operation import Status
from provisioner.wipe.capabilities import AtaCapabilities, Capabilities
from tests.unit.operations import causes as c
from tests.unit.operations.world import RAMDISK, REQUEST

NOWHERE, SHUT = Placement.QUARANTINE, Placement.SHUT
ON = "on-to-network"


def first_disk(**fields):
    """A result whose first disk says this."""

    def change(result):
        disks = [dict(each) for each in result["disks"]]
        disks[0] |= fields
        return {**result, "disks": disks}

    return change


def first_run(**fields):
    def change(result):
        disks = [dict(each) for each in result["disks"]]
        disks[0]["runs"] = [{**disks[0]["runs"][0], **fields}]
        return {**result, "disks": disks}

    return change


def nothing(result):
    return {**result, "disks": []}


# cause, code, where the port leads at the end
TABLE = {
    "fence: controller silent": (c.silent, "CONTROLLER_BREAKER", SHUT),
    "fence: stays on": (c.never_off, "POWER_NOT_REACHED", SHUT),
    "fence: another machine answers": (c.other_machine, "OTHER_MACHINE", SHUT),
    "off-for-good: controller silent": (
        c.at("off-for-good", c.silent),
        "CONTROLLER_BREAKER",
        SHUT,
    ),
    "port-to-quarantine: stays": (c.at("port-to-quarantine", c.stuck_port), "PORT_NOT_SET", None),
    "port-to-provisioning: stays": (
        c.at("port-to-provisioning", c.stuck_port),
        "PORT_NOT_SET",
        NOWHERE,
    ),
    "network-first: another device is reported": (c.misreports, "BOOT_DEVICE_NOT_SET", NOWHERE),
    "network-first: no ramdisk": (c.no_ramdisk, "RAMDISK_MISSING", NOWHERE),
    "rest: nobody builds a ramdisk for a day": (c.no_ramdisk, "RAMDISK_MISSING", NOWHERE),
    "agent-called-in: never": (c.agent(silent_from="hello"), "AGENT_SILENT", NOWHERE),
    "same-machine: disk missing": (c.facts(c.without_disk), "FACTS_DIFFER", NOWHERE),
    "same-machine: disk added": (c.facts(c.with_disk()), "FACTS_DIFFER", NOWHERE),
    "same-machine: fabric disk": (
        c.facts(c.with_disk(c.Transport.ISCSI, wwn="naa.1")),
        "DISK_FABRIC",
        NOWHERE,
    ),
    "mark: agent dies": (c.agent(silent_from="mark"), "AGENT_LOST", NOWHERE),
    "mark: a disk is left out": (c.agent_lies("mark", nothing), "WIPE_NOT_PROVEN", NOWHERE),
    "mark: a stick that could hold data": (
        c.facts(c.with_disk(c.Transport.USB)),
        "WIPE_METHOD_MISSING",
        NOWHERE,
    ),
    "mark: what comes back is no survey": (
        c.agent_lies("mark", lambda _: {"disks": 7}),
        "CANNOT_TELL",
        NOWHERE,
    ),
    "erase: the order fails": (c.agent_fails("erase", "WIPE_FAILED"), "WIPE_FAILED", NOWHERE),
    "erase: agent dies": (c.agent(silent_from="erase"), "AGENT_LOST", NOWHERE),
    "erase: a disk is left out": (c.agent_lies("erase", nothing), "WIPE_FAILED", NOWHERE),
    "erase: frozen": (
        c.agent_lies("erase", first_run(status="frozen")),
        "DISK_FROZEN",
        NOWHERE,
    ),
    "erase: success that erased nothing": (
        c.agent_lies("erase", first_run(canaries_left=64)),
        "WIPE_NOT_PROVEN",
        NOWHERE,
    ),
    "verify: a disk is left out": (c.agent_lies("verify", nothing), "WIPE_NOT_PROVEN", NOWHERE),
    "verify: samples are not wiped": (
        c.agent_lies("verify", first_disk(unwiped=1, first_unwiped=4096)),
        "WIPE_NOT_PROVEN",
        NOWHERE,
    ),
    "agent-off: stays on": (c.at("agent-off", c.never_off), "POWER_NOT_REACHED", SHUT),
    "port-at-rest: stays": (c.at("port-at-rest", c.stuck_port), "PORT_NOT_SET", None),
}
PROVEN = {"agent-off: stays on", "port-at-rest: stays"}
"""The wipe was proven and signed before: the server is quarantined, and clean."""


BEGIN_AT = {
    **dict.fromkeys(
        ("network-first", "on", "agent-called-in", "same-machine"), "port-to-provisioning"
    ),
    **dict.fromkeys(("mark", "erase", "verify", "agent-off", "port-at-rest"), ON),
}
"""The step before which nothing may go wrong, so it need not be walked each time."""


@pytest.mark.parametrize("name", TABLE)
def test_a_release_that_fails_ends_in_quarantine_cut_off_and_dirty(request, name):
    cause, code, placement = TABLE[name]
    begin_at = BEGIN_AT.get(name.partition(":")[0])
    if begin_at is None:
        active = request.getfixturevalue("active")
        cause(active)
        operation = active.ask_for_release()
    else:
        active = request.getfixturevalue("reach")("release", begin_at)
        cause(active)
        operation = active.open_now().id
    evidence = len(active.database.evidence.records())
    active.walk()
    ended, server = active.operation(operation), active.server()
    assert (ended.status, ended.code) == (Status.FAILED, ErrorCode(code))
    assert server.state is State.QUARANTINED
    assert server.dirty is (name not in PROVEN)
    assert active.kinds()[4:] == ["release", "quarantine"]
    assert len(active.database.evidence.records()) == evidence + (name in PROVEN)
    assert placement is None or active.placement() is placement
    if placement is NOWHERE:
        assert active.power_of() is Power.OFF
        assert active.allocation().off_confirmed
    assert active.offers.offered == {}


def test_a_release_does_not_pass_a_controller_that_does_not_answer(active):
    c.silent(active)
    operation = active.ask_for_release()
    began = active.clock.wall()
    active.do(active.walk_step(operation, "fence"))
    assert active.placement() is Placement.SHUT
    assert active.clock.wall() - began <= 15.0
    assert not active.allocation().off_confirmed
    active.walk()
    assert "possibly still running" in active.server().reason
    assert active.power_of() is Power.ON
    assert not active.allocation().off_confirmed


@pytest.mark.parametrize("steps", [QUARANTINE, CLEAN], ids=lambda each: each.name)
def test_an_operators_operation_confirms_off_for_the_allocation_that_ended(active, steps):
    """Its release could not see it: status says so until somebody can."""
    c.silent(active)
    active.ask_for_release()
    active.walk()
    assert not active.allocation().off_confirmed
    active.machines["s1"].silent = False
    active.pass_time(600.0)
    assert not active.allocation().off_confirmed
    active.open(steps)
    active.walk()
    assert active.allocation().off_confirmed
    assert power_state(active.do(active.bare_metal.observe(REQUEST.key))) is PowerState.OFF


def test_a_fence_that_was_shut_is_off_once_the_controller_answers_again(active):
    active.machines["s1"].silent = True
    operation = active.ask_for_release()
    active.do(active.walk_step(operation, "fence"))
    assert active.placement() is Placement.SHUT
    active.machines["s1"].silent = False
    active.walk()
    assert active.state() is State.AVAILABLE
    assert active.allocation().off_confirmed
    assert active.placement() is Placement.QUARANTINE


def test_a_wipe_by_a_pool_that_lists_what_cannot_be_erased_still_misses_no_disk(active):
    pool = active.database.catalogue.pool("a")
    policy = replace(pool.policy, unerasable="list")
    active.database.catalogue.put_pool(replace(pool, policy=policy))
    c.agent_lies("mark", nothing)(active)
    active.ask_for_release()
    active.walk()
    assert (active.state(), active.server().dirty) == (State.QUARANTINED, True)


def frozen(world, policy):
    """A SATA disk that offers a security erase, frozen by firmware; the pool's word on it."""
    ata = AtaCapabilities(security=True, enhanced=True, frozen=True)
    seen = first_disk(capabilities=Capabilities(ata=ata).to_json())

    def erased(result):
        run = result["disks"][0]["runs"][0]
        refused = run["method"].startswith("ata")
        return seen(first_run(status="frozen")(result) if refused else result)

    world.agents["s1"].bends = {"mark": seen, "erase": erased}
    pool = world.database.catalogue.pool("a")
    policy = replace(pool.policy, **policy)
    world.database.catalogue.put_pool(replace(pool, policy=policy))


def test_a_frozen_disk_is_overwritten_where_its_pool_says_so(active):
    frozen(active, {"frozen": "overwrite"})
    active.ask_for_release()
    active.walk()
    assert (active.state(), active.server().dirty) == (State.AVAILABLE, False)
    (disk,) = active.database.evidence.records()[-1]["document"]["disks"]
    assert [each["method"] for each in disk["methods"]] == ["overwrite"]
    assert disk["capabilities"]["ata"]["frozen"]
    assert disk["class"] == "clear"


@pytest.mark.parametrize(
    "policy", [{}, {"frozen": "overwrite", "wipe_methods": 3}], ids=["refused", "not enough"]
)
def test_a_frozen_disk_is_quarantined_otherwise(active, policy):
    frozen(active, policy)
    operation = active.ask_for_release()
    active.walk()
    assert active.operation(operation).code is ErrorCode.DISK_FROZEN
    assert (active.state(), active.server().dirty) == (State.QUARANTINED, True)


def test_what_the_agent_adds_to_its_survey_is_not_erased(active):
    def added(result):
        stranger = {**result["disks"][0], "disk": {**result["disks"][0]["disk"], "serial": "X"}}
        return {**result, "disks": [*result["disks"], stranger]}

    c.agent_lies("mark", added)(active)
    operation = active.ask_for_release()
    active.walk()
    order = active.database.orders.order(operation, "erase")
    assert [each["disk"]["serial"] for each in order.parameters["disks"]] == [
        active.server().baseline.disks[0].serial
    ]
    assert active.state() is State.AVAILABLE


def test_an_excluded_disk_is_neither_compared_nor_erased(active):
    c.facts(c.with_disk(c.Transport.FC, wwn="naa.1"))(active)
    listed = (ExcludedDisk(wwn="naa.1", name="san"),)
    active.database.servers.change("s1", excluded_disks=listed)
    operation = active.ask_for_release()
    active.walk()
    assert active.state() is State.AVAILABLE
    order = active.database.orders.order(operation, "erase")
    assert len(order.parameters["disks"]) == 1
    document = active.database.evidence.records()[-1]["document"]
    assert document["baseline"]["excluded"] == [{"wwn": "naa.1", "name": "san"}]


def test_a_wipe_waits_off_and_cut_off_for_a_ramdisk(active):
    c.no_ramdisk(active)
    operation = active.ask_for_release()
    active.pass_time(3600.0)
    assert active.operation(operation).note == "waits: no ramdisk was built"
    assert (active.power_of(), active.placement()) == (Power.OFF, NOWHERE)
    assert active.machines["s1"].booted_from[1:] == []
    active.ramdisk = RAMDISK
    active.until(lambda: active.open_now() is None)
    assert (active.state(), active.server().dirty) == (State.AVAILABLE, False)
    assert active.operation(operation).note == ""
    document = active.database.evidence.records()[-1]["document"]
    assert document["times"]["off"]["seconds"] >= 3600.0


def test_a_quarantine_that_could_not_reach_off_is_asked_for_again(active):
    """The power loop does so for a stray; an operator may."""
    c.silent(active)
    active.ask_for_release()
    active.walk()
    assert active.placement() is Placement.SHUT
    active.machines["s1"].silent = False
    active.pass_time(600.0)
    active.open(QUARANTINE)
    active.walk()
    assert active.power_of() is Power.OFF
    assert active.placement() is Placement.QUARANTINE
    assert (active.state(), active.server().dirty) == (State.QUARANTINED, True)
