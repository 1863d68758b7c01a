"""Reinstall, reseed and rescue of an instance: from what is asked to what runs then."""

from dataclasses import replace

import pytest

from provisioner.errors import ErrorCode, RackwrightError
from provisioner.ports.controllers import BootDevice
from provisioner.servers.allocation import Phase
from provisioner.servers.model import Placement, Power, State
from provisioner.servers.operation import Status
from tests.unit.operations.asking import note
from tests.unit.operations.changing import (
    ACTION,
    HOST_KEY,
    KEY,
    LOGIN,
    OFF,
    Asking,
    certified,
    desk,
    settled,
    view,
)
from tests.unit.operations.world import REQUEST, image, tenant


# --- reinstall -----------------------------------------------------------------------------------
def test_a_reinstall_writes_the_image_that_it_has_and_starts_it(active, asking):
    before = active.allocation()
    active.agents["s1"].done.clear()
    walk = asking.to_its_end("reinstall")
    assert (walk.operation.status, walk.stage) == (Status.DONE, "alive")
    assert active.agents["s1"].done == [
        "read_nonce",
        "write_image",
        "write_seed",
        "set_boot_order",
        "power_off",
    ]
    after = active.allocation()
    assert (after.id, after.phase, after.image) == (before.id, Phase.ACTIVE, before.image)
    marks = (after.needs_reinstall, after.needs_reseed, after.off_first)
    assert marks == (False, False, False)
    assert settled(active) == (State.ACTIVE, Power.ON, Placement.TENANT, Power.ON)
    assert active.leads() == tenant(101)
    assert active.machines["s1"].booted_from[-2:] == [BootDevice.NETWORK, BootDevice.DISK]
    assert active.seeds() == []


def test_its_seed_is_made_of_what_is_remembered_and_what_cloudstack_says(active, asking):
    active.database.allocations.mark(active.allocation().id, needs_reseed=True)
    asking.to_its_end("reinstall")
    (seed,) = asking.seeds
    assert (seed.user_data, seed.ssh_keys, seed.seed_id) == (b"new", (LOGIN,), "")
    assert seed.networks == REQUEST.networks
    assert active.agents["s1"].seeds[-1].startswith(KEY.instance.encode())
    assert active.allocation().owner == "ROOT/alice"
    assert not active.allocation().needs_reseed


def test_a_host_name_of_the_first_seed_is_that_of_the_next_ones(world):
    world.ask_for_deployment(replace(REQUEST, hostname="trainer-7"))
    world.walk()
    note(world, Power.ON)
    asking = Asking(world)
    for name in ("reinstall", "reseed"):
        asking.to_its_end(name)
    assert [each.hostname for each in asking.seeds] == ["trainer-7", "trainer-7"]


def test_a_reinstall_of_what_is_stopped_installs_and_ends_off(active, asking):
    active.power("off")
    pressed = len(active.machines["s1"].booted_from)
    walk = asking.to_its_end("reinstall", ends=Power.OFF)
    assert (walk.operation.steps_name, walk.operation.status) == ("reinstall-stopped/1", "done")
    assert active.machines["s1"].booted_from[pressed:] == [BootDevice.NETWORK]
    assert settled(active) == OFF
    assert active.power("on").text == "started"


async def other(request, size):
    return replace(await certified(request, size), image="debian")


def test_another_image_is_the_pool_s_own_and_is_remembered(active, asking, tmp_path):
    pool = active.database.catalogue.pool("a")
    assert asking.refused("reinstall", certify=other) == "IMAGE_UNKNOWN"
    active.database.catalogue.put_image(replace(image(tmp_path), name="debian-12", root="s" * 64))
    active.database.catalogue.put_pool(replace(pool, images={**pool.images, "debian": "debian-12"}))
    walk = asking.to_its_end("reinstall", certify=other)
    assert walk.operation.parameters["image"] == "debian-12"
    assert active.allocation().image == "debian-12"
    assert asking.to_its_end("reinstall").operation.parameters["image"] == "debian-12"


def test_it_is_answered_in_time_and_goes_on_and_the_same_attaches(active, asking):
    began = active.clock.monotonic()
    walk = active.live(asking("reinstall"))
    assert active.clock.monotonic() - began <= 6.5
    assert walk.operation.status is Status.OPEN
    again = active.live(asking("reinstall"))
    assert again.operation.id == walk.operation.id
    assert active.seeds() == [walk.operation.id]
    active.until(lambda: active.open_now() is None)
    assert active.operation(walk.operation.id).status is Status.DONE


# --- reseed --------------------------------------------------------------------------------------
def test_a_reseed_writes_a_seed_of_another_id_and_nothing_else(active, asking):
    active.agents["s1"].done.clear()
    active.database.allocations.mark(active.allocation().id, needs_reseed=True)
    walk = asking.to_its_end("reseed")
    assert active.agents["s1"].done == ["read_nonce", "write_seed", "power_off"]
    seed_id = f"{KEY.instance}-{walk.operation.id[:8]}"
    assert asking.seeds[0].seed_id == seed_id
    assert active.agents["s1"].seeds[-1].startswith(seed_id.encode())
    order = active.database.orders.order(walk.operation.id, "write-seed")
    assert order.parameters["disk"]["serial"] == active.server().baseline.disks[0].serial
    assert not active.allocation().needs_reseed
    assert settled(active) == (State.ACTIVE, Power.ON, Placement.TENANT, Power.ON)


def test_two_reseeds_have_two_ids(active, asking):
    for _ in range(2):
        asking.to_its_end("reseed")
    assert len({each.seed_id for each in asking.seeds}) == 2


def test_a_reseed_of_what_is_stopped_ends_off(active, asking):
    active.power("off")
    asking.to_its_end("reseed", ends=Power.OFF)
    assert settled(active) == OFF


# --- rescue --------------------------------------------------------------------------------------
def test_a_rescue_ends_on_in_the_tenant_s_networks_without_anything_of_ours(active, asking):
    walk = asking.to_its_end("rescue")
    assert (walk.operation.status, walk.host_key) == (Status.DONE, HOST_KEY)
    assert settled(active) == (State.RESCUE, Power.ON, Placement.TENANT, Power.ON)
    assert active.machines["s1"].booted_from[-1] is BootDevice.NETWORK
    order = active.database.orders.order(walk.operation.id, "rescue")
    nic, network = active.server().nics[0], REQUEST.networks[0]
    assert order.parameters == {
        "hostname": "i-2-7-VM",
        "keys": [LOGIN],
        "networks": [
            {
                "mac": nic.mac,
                "address": network.address,
                "prefix": network.prefix,
                "gateway": network.gateway,
                "dns": [],
                "default": network.default,
                "mtu": network.mtu,
            }
        ],
    }
    assert active.database.boots.boot_of_mac(nic.mac) is None
    assert nic.mac not in active.offers.offered


def test_its_boot_is_over_before_its_port_leads_to_the_tenant(active, asking):
    mac, seen = active.server().nics[0].mac, []
    look = lambda: seen.append(active.database.boots.boot_of_mac(mac))  # noqa: E731
    active.when("port-to-tenant", look)
    asking.to_its_end("rescue")
    assert seen == [None]


def test_a_rescue_that_stands_is_shown_as_it_is(active, asking):
    walk = asking.to_its_end("rescue")
    again = active.do(asking("rescue"))
    assert (again.operation.id, again.host_key) == (walk.operation.id, HOST_KEY)
    assert active.do(desk(active).story(KEY)).newest.host_key == HOST_KEY
    for name in ("reinstall", "reseed"):
        with pytest.raises(RackwrightError, match="stop, start or reboot it"):
            active.do(asking(name))
    assert asking.seeds == []


def test_a_rescue_without_a_key_is_refused(active, asking):
    assert asking.refused("rescue", request=replace(ACTION, ssh_keys=())) == "KEYS_MISSING"
    assert active.open_now() is None


@pytest.mark.parametrize("lie", [{}, {"host_key": "see http://x"}, {"host_key": "SHA256:short"}])
def test_a_host_key_that_is_none_is_shown_to_nobody(active, asking, lie):
    active.agents["s1"].bends["rescue"] = lambda _found: lie
    operation = asking.begin("rescue")
    active.walk()
    assert active.operation(operation).code is ErrorCode.AGENT_FAILED
    assert settled(active) == OFF


@pytest.mark.parametrize(
    ("act", "power"), [("off", Power.OFF), ("on", Power.ON), ("cycle", Power.ON)]
)
def test_stop_start_and_reboot_end_a_rescue(active, asking, act, power):
    asking.to_its_end("rescue")
    active.power(act)
    assert (active.state(), active.power_of()) == (State.ACTIVE, power)
    if power is Power.ON:
        assert active.machines["s1"].booted_from[-1] is BootDevice.DISK
        assert active.leads() == tenant(101)
        assert (
            active.database.operations.operations(server="s1")[0].steps_name == "start-from-off/1"
        )
    assert not active.allocation().off_first
    assert active.power("cycle").text == "rebooted"


def test_a_power_cycle_ends_a_rescue_too(active, asking):
    asking.to_its_end("rescue")
    active.live(desk(active).power_cycle(ACTION, until=active.within(600.0)))
    assert (active.state(), active.machines["s1"].booted_from[-1]) == ("ACTIVE", BootDevice.DISK)


def test_status_of_a_rescue_is_on_and_while_it_begins_unknown(active, asking):
    operation = asking.begin("rescue")
    assert view(active).commanding
    active.walk()
    assert active.operation(operation).status is Status.DONE
    assert (view(active).rescue, view(active).commanding) == (True, False)


def test_a_stop_while_a_rescue_begins_takes_over(active, asking):
    operation = asking.begin("rescue")
    active.do(active.walk_step(operation, "on-to-network-for-tenant"))
    active.power("off")
    assert active.operation(operation).status is Status.SUPERSEDED
    assert settled(active) == OFF
