"""Every walk from its first step to its last, where all goes well."""

import hashlib
import shutil

import pytest

from provisioner.errors import ConflictError
from provisioner.evidence.chain import verify_chain
from provisioner.operations.inspect import INSPECT, VERIFY
from provisioner.operations.power_steps import FENCE
from provisioner.operations.quarantine import QUARANTINE, RETIRE
from provisioner.operations.release import CLEAN
from provisioner.ports.controllers import BootDevice
from provisioner.servers.allocation import Phase
from provisioner.servers.model import Placement, Power, State
from provisioner.servers.operation import Status
from provisioner.testing import store
from provisioner.testing.store import DigestSigner
from tests.unit.operations.world import ONE, REQUEST, World, make_seed, placed, tenant

NETWORK_BOOT = [
    "controller: read identity",
    "controller: leave nonce",
    "controller: boot network once uefi",
    "controller: read boot",
    "boot: offer {mac}",
    "controller: read identity",
    "controller: read power",
    "controller: power on",
    "controller: read power",
    "controller: open console",
    "controller: read identity",
    "controller: remove nonce",
    "boot: withdraw {mac}",
]
OFF_AGAIN = [
    "controller: read identity",
    "controller: read power",
    "controller: power off",
    "controller: read power",
]
IS_OFF = ["controller: read identity", "controller: read power"]
START = [
    "port: port tap-s1 to tenant 101",
    "controller: read identity",
    "controller: boot disk once uefi",
    "controller: read boot",
    "controller: read identity",
    "controller: read power",
    "controller: power on",
    "controller: read power",
    "controller: open console",
]
DEPLOY = [
    *IS_OFF,
    "port: port tap-s1 to provisioning",
    *NETWORK_BOOT,
    *IS_OFF,  # the agent was told to end, and did
    *START,
    "controller: read identity",
    "controller: read boot progress",
]
RELEASE = [
    *OFF_AGAIN,
    *IS_OFF,
    "port: port tap-s1 to quarantine",
    *IS_OFF,  # after its rest
    "port: port tap-s1 to provisioning",
    *NETWORK_BOOT,
    *IS_OFF,
    "port: port tap-s1 to quarantine",
]


def calls(world, expected, name="s1"):
    mac = world.server(name).provisioning_nic().mac
    return [line.format(mac=mac).replace("tap-s1", f"tap-{name}") for line in expected]


@pytest.fixture(scope="module")
def deployed(free_template, tmp_path_factory):
    """A world after one deployment, to be looked at only; with where the port led."""
    world = World(shutil.copytree(free_template, tmp_path_factory.mktemp("deployed") / "state"))
    world.ask_for_deployment()
    world.seen = placements_by_step(world)
    world.walk()
    yield world
    world.close()
    assert world.trespasses == []


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


def last(world):
    """The newest operation of s1."""
    return world.database.operations.operations(server="s1")[0].id


def at_each_step(world, look):
    """What is seen as each step begins."""
    seen, begin = {}, world.effects.begin

    def begun(operation, step, **more):
        seen[step] = look()
        return begin(operation, step, **more)

    world.effects.begin = begun
    return seen


# --- deploy --------------------------------------------------------------------------------
def test_a_deployment_makes_these_calls_in_this_order(deployed):
    world, operation = deployed, last(deployed)
    assert world.journal(operation) == calls(world, DEPLOY)
    assert world.operation(operation).status is Status.DONE


def test_a_deployed_instance_is_active_on_a_dirty_server_in_its_network(deployed):
    world = deployed
    server, allocation = world.server(), world.allocation()
    assert (server.state, server.dirty) == (State.ACTIVE, True)
    assert (allocation.phase, allocation.wanted) == (Phase.ACTIVE, Power.ON)
    assert allocation.first_boot_asked
    assert allocation.ever_powered
    assert not allocation.known_to_caller
    assert world.leads() == tenant(101)
    assert world.power_of() is Power.ON
    assert world.machines["s1"].booted_from == [BootDevice.NETWORK, BootDevice.DISK]
    assert world.offers.offered == {}


def test_the_agent_of_a_deployment_is_asked_for_these_orders(deployed):
    assert deployed.agents["s1"].done == [
        "read_nonce",
        "write_image",
        "write_seed",
        "set_boot_order",
        "power_off",
    ]


def test_the_seed_is_the_servers_own_is_written_once_and_is_gone_then(world):
    operation = world.ask_for_deployment()
    seed = world.do(make_seed(REQUEST, world.server(), 512))
    kept = world.operation(operation).parameters
    assert kept["seed_sha256"] == hashlib.sha256(seed).hexdigest()
    assert kept["seed_bytes"] == len(seed)
    assert world.database.seeds.seed(operation) == seed
    world.walk()
    assert world.agents["s1"].seeds == [seed]
    assert world.database.seeds.seed(operation) is None


def test_a_seed_that_nobody_acknowledged_to_the_api_is_dropped_by_its_step(reach):
    world = reach("deploy", "agent-called-in")
    operation = world.open_now().id
    world.agents["s1"].seed_store = Unwilling(world.database.seeds)
    world.walk()
    assert world.database.seeds.seed(operation) is None


class Unwilling:
    """Seeds whose API forgets to drop them."""

    def __init__(self, seeds):
        self.seed = seeds.seed

    def drop_seed(self, operation):
        pass


def test_the_port_is_with_us_only_between_off_and_off(deployed):
    world, operation, seen = deployed, last(deployed), deployed.seen
    ours = {step for step, placement in seen.items() if placement is Placement.PROVISIONING}
    steps = world.operation(operation).steps
    first, final = steps.index("port-to-provisioning"), steps.index("agent-off")
    assert ours == set(steps[first + 1 : final + 2])  # as each step begins
    theirs = {step for step, placement in seen.items() if placement is Placement.TENANT}
    assert theirs == {"disk-first", "first-on", "alive"}


def placements_by_step(world):
    """Where the port leads as each step begins."""
    return at_each_step(world, world.placement)


def test_dirty_is_set_before_the_first_power_on(world):
    dirty_at_press = []
    machine = world.machines["s1"]
    press = machine.press

    class Watched(type(machine)):
        __slots__ = ()

        def press(self, act):
            dirty_at_press.append((str(act), world.server().dirty))
            press(act)

    machine.__class__ = Watched
    world.ask_for_deployment()
    assert not world.server().dirty
    world.walk()
    assert dirty_at_press[0] == ("on", True)


def test_a_login_prompt_is_proof_of_life(deployed):
    assert deployed.results(last(deployed))["alive"] == {"proof": "console", "sign": "login: "}


def test_a_firmware_that_says_so_is_the_best_proof_of_life(reach):
    world = reach("deploy", "agent-off")
    operation = world.open_now().id
    world.machines["s1"].started = True
    world.walk()
    assert world.results(operation)["alive"] == {"proof": "boot progress"}


def test_without_a_sign_power_that_stays_is_life_that_is_assumed(reach):
    world = reach("deploy", "agent-off")
    operation = world.open_now().id
    world.machines["s1"].console = (b"dropped char",)
    world.walk()
    found = world.results(operation)["alive"]
    assert found["proof"] == "assumed"
    assert found["on_s"] >= world.times.proof_settle_s
    assert world.state() is State.ACTIVE


def test_what_the_agents_system_said_on_the_console_is_no_sign_of_the_tenants(world):
    machine = world.machines["s1"]
    machine.on_power.append(lambda power: silence(machine))
    operation = world.ask_for_deployment()
    world.walk()
    assert b"login: " in world.kept.files[operation, "console.log"]
    assert world.results(operation)["alive"]["proof"] == "assumed"


def silence(machine):
    if machine.booted_from and machine.booted_from[-1] is BootDevice.DISK:
        machine.console = ()


def test_nobody_listens_to_the_tenants_console_after_the_deployment(reach):
    world = reach("deploy", "agent-off")
    endless(world)
    operation = world.open_now().id
    world.walk()
    kept = world.kept.files[operation, "console.log"]
    world.pass_time(100.0)
    assert kept
    assert world.kept.files[operation, "console.log"] == kept


def endless(world):
    world.machines["s1"].console = (b"login: ", *[b"more "] * 10_000)


def test_a_nonce_that_was_read_back_is_the_better_identity(deployed):
    assert deployed.results(last(deployed))["same-machine"] == {"identity": "nonce"}


def test_a_controller_without_a_place_for_a_nonce_gives_identity_by_uuid(world):
    world.machines["s1"].refuses.add("leave_nonce")
    operation = world.ask_for_deployment()
    world.walk()
    assert world.results(operation)["same-machine"] == {"identity": "uuid"}
    assert "read_nonce" not in world.agents["s1"].done
    assert world.state() is State.ACTIVE


def test_a_controller_that_reports_no_boot_device_is_recorded_as_such(world):
    world.machines["s1"].reports_boot = False
    operation = world.ask_for_deployment()
    world.walk()
    assert world.results(operation)["network-first"]["reported"] is False
    assert world.state() is State.ACTIVE


def test_a_server_that_is_on_is_switched_off_before_anything_else(world):
    world.machines["s1"].power = Power.ON
    operation = world.ask_for_deployment()
    world.walk()
    assert world.journal(operation)[:4] == OFF_AGAIN
    assert world.state() is State.ACTIVE


def test_a_port_that_cannot_be_seen_is_recorded_as_unknown(reach):
    world = reach("deploy", "agent-off")
    operation = world.open_now().id
    world.ports.unseen.add("tap-s1")
    world.walk()
    assert world.results(operation)["port-to-tenant"] == {"tap-s1": "unknown"}
    assert world.state() is State.ACTIVE


def test_an_agent_that_does_not_end_is_cut_off(reach):
    world = reach("deploy", "agent-called-in")
    operation = world.open_now().id
    world.agents["s1"].stays = True
    world.walk()
    texts = world.journal(operation)
    assert texts.count("controller: power off") == 1
    assert texts.index("controller: power off") < texts.index("port: port tap-s1 to tenant 101")
    assert world.state() is State.ACTIVE


# --- release -------------------------------------------------------------------------------
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


# --- enrolment: verify, inspect, clean -------------------------------------------------------
@pytest.fixture
def enrolled(world):
    """A third server that nobody has touched."""
    store.enrol(world.database, "s3")
    world.database.servers.change("s3", identity=None)
    return world


def rack(world, *, facts=None, **behaviour):
    identity = store.ControllerIdentity(system_uuid="aaaaaaaa-0000-0000-0000-000000000003")
    world.put_in_rack("s3", identity=identity, **behaviour)
    mac = world.server("s3").nics[0].mac
    world.agents["s3"].facts = facts or store.inventory(identity.system_uuid, mac)
    return world.machines["s3"]


def test_an_enrolled_server_is_verified_inspected_wiped_and_offered(enrolled):
    machine = rack(enrolled)
    enrolled.open(VERIFY, "s3")
    enrolled.walk()
    server = enrolled.server("s3")
    assert enrolled.kinds("s3") == ["verify", "inspect", "clean"]
    assert (server.state, server.dirty) == (State.AVAILABLE, False)
    assert server.identity == machine.identity
    assert server.restore_policy == "stay-off"
    assert machine.stays_off
    assert server.baseline == enrolled.agents["s3"].facts
    assert enrolled.placement("s3") is Placement.QUARANTINE
    assert enrolled.power_of("s3") is Power.OFF
    assert enrolled.database.evidence.records()[-1]["document"]["server"]["name"] == "s3"


def test_a_server_found_on_is_left_alone_until_a_person_provides_it(enrolled):
    machine = rack(enrolled, power=Power.ON)
    enrolled.open(VERIFY, "s3")
    enrolled.walk()
    server = enrolled.server("s3")
    assert (server.state, server.found_on) == (State.ENROLLED, True)
    assert "found switched on" in server.reason
    assert machine.power is Power.ON
    assert not any("power" in call and call != "read power" for call in machine.calls)
    assert [port for port, _ in enrolled.ports.moves if port == "tap-s3"] == []
    enrolled.open(INSPECT, "s3")  # what `provide` opens
    enrolled.walk()
    assert enrolled.state("s3") is State.AVAILABLE


def with_data(world):
    mac = world.server("s3").nics[0].mac
    facts = store.inventory("aaaaaaaa-0000-0000-0000-000000000003", mac)
    return store.replace_disks(facts, has_partition_table=True)


def test_disks_with_data_wait_in_quarantine_for_a_persons_word(enrolled):
    rack(enrolled, facts=with_data(enrolled))
    enrolled.open(VERIFY, "s3")
    enrolled.walk()
    server = enrolled.server("s3")
    serial = server.baseline.disks[0].serial
    assert server.state is State.QUARANTINED
    assert f"--erase {serial}" in server.reason
    assert enrolled.kinds("s3") == ["verify", "inspect", "quarantine"]
    assert "erase" not in enrolled.agents["s3"].done
    assert enrolled.power_of("s3") is Power.OFF
    enrolled.open(CLEAN, "s3", erase=[serial])
    enrolled.walk()
    assert enrolled.state("s3") is State.AVAILABLE


def test_the_word_to_erase_is_handed_on_from_inspection_to_the_wipe(enrolled):
    facts = with_data(enrolled)
    rack(enrolled, facts=facts)
    enrolled.open(VERIFY, "s3", erase=[facts.disks[0].serial])
    enrolled.walk()
    assert enrolled.state("s3") is State.AVAILABLE


def test_a_word_for_a_disk_that_is_not_there_erases_nothing(enrolled):
    rack(enrolled, facts=with_data(enrolled))
    enrolled.open(VERIFY, "s3", erase=["another"])
    enrolled.walk()
    assert enrolled.state("s3") is State.QUARANTINED
    assert "erase" not in enrolled.agents["s3"].done


def test_a_server_without_the_hardware_that_was_enrolled_is_quarantined(enrolled):
    from provisioner.servers.model import ExpectedHardware

    enrolled.database.servers.change("s3", expected=ExpectedHardware(disks=2))
    rack(enrolled)
    enrolled.open(VERIFY, "s3")
    enrolled.walk()
    assert enrolled.state("s3") is State.QUARANTINED
    assert "2 expected, 1 seen" in enrolled.server("s3").reason
    assert enrolled.server("s3").baseline is None


def test_a_refused_restore_policy_is_recorded(enrolled):
    rack(enrolled).refuses.add("stay_off")
    enrolled.open(VERIFY, "s3")
    enrolled.walk()
    assert enrolled.server("s3").restore_policy.startswith("refused: ")
    assert enrolled.state("s3") is State.AVAILABLE


# --- quarantine and retirement -----------------------------------------------------------------
def test_a_quarantined_server_is_off_and_cut_off(active):
    operation = active.open(QUARANTINE, reason="smells of smoke")
    active.walk()
    server = active.server()
    assert active.journal(operation) == calls(
        active, [*OFF_AGAIN, "port: port tap-s1 to quarantine", "boot: withdraw {mac}"]
    )
    assert (server.state, server.dirty) == (State.QUARANTINED, True)
    assert server.reason == "smells of smoke"
    assert active.allocation().phase is Phase.ACTIVE
    assert active.power_of() is Power.OFF


def test_a_server_that_may_still_run_gets_its_port_shut(active):
    active.machines["s1"].silent = True
    operation = active.open(QUARANTINE)
    active.walk()
    assert active.results(operation)["off-or-unknown"]["power"] == "unknown"
    assert active.placement() is Placement.SHUT
    assert active.operation(operation).status is Status.DONE


def test_a_quarantined_server_comes_back_by_a_wipe(active):
    active.open(QUARANTINE)
    active.walk()
    active.do(active.bare_metal.release(REQUEST.key, "lab", until=active.within(1.0)))
    assert active.state() is State.QUARANTINED
    serial = active.server().baseline.disks[0].serial
    active.open(CLEAN, erase=[serial])
    active.walk()
    assert (active.state(), active.server().dirty) == (State.AVAILABLE, False)


def test_a_retired_server_is_cut_off(world):
    world.open(RETIRE)
    world.walk()
    assert world.state() is State.RETIRED
    assert world.ports.moves[-1] == ("tap-s1", placed(Placement.QUARANTINE))


def test_an_allocated_server_is_not_retired(active):
    with pytest.raises(ConflictError, match="allocated"):
        active.open(RETIRE)


# --- start, stop, reboot -----------------------------------------------------------------------
STOP_CALLS = [
    "controller: read identity",
    "controller: read power",
    "controller: power soft-off",
    "controller: read power",
    "port: port tap-s1 to quarantine",
]


def test_a_stop_asks_the_system_first_and_ends_in_quarantine(active):
    answer = active.power("off")
    assert active.journal()[-len(STOP_CALLS) :] == STOP_CALLS
    assert answer.text == "off, its port is in quarantine"
    assert active.power_of() is Power.OFF
    assert active.placement() is Placement.QUARANTINE
    assert active.allocation().wanted is Power.OFF
    assert active.state() is State.ACTIVE


def test_a_system_that_does_not_listen_is_cut_off(active):
    active.machines["s1"].soft_off_takes_s = None
    began = active.clock.wall()
    active.power("off")
    assert "controller: power off" in active.journal()[-4:]
    assert active.power_of() is Power.OFF
    assert active.clock.wall() - began >= active.times.soft_off_s


def test_a_start_boots_the_disk_in_the_tenants_network(active):
    active.power("off")
    booted = len(active.machines["s1"].booted_from)
    answer = active.power("on")
    assert active.journal()[-len(START) :] == START
    assert answer.text == "started"
    assert active.machines["s1"].booted_from[booted:] == [BootDevice.DISK]
    assert active.leads() == tenant(101)
    assert active.allocation().wanted is Power.ON
    assert active.agents["s1"].done == []


def test_a_start_of_a_server_that_is_on_switches_nothing(active):
    pressed = len(active.machines["s1"].booted_from)
    active.power("on")
    assert not any(line.startswith("controller: power") for line in active.journal()[-7:])
    assert len(active.machines["s1"].booted_from) == pressed


def test_a_reboot_is_off_and_on(active):
    active.power("cycle")
    assert active.machines["s1"].booted_from[-1] is BootDevice.DISK
    texts = active.journal()
    assert texts.index("controller: power soft-off") < len(texts) - texts[::-1].index(
        "controller: power on"
    )
    assert active.leads() == tenant(101)
    assert active.power_of() is Power.ON
