"""16: a service that remembers an older time looks, and does nothing else.

That the marker tells an old database from the right one: tests/unit/store/test_generation.py.
"""

import asyncio
import shutil
import sqlite3
from contextlib import closing
from functools import partial

import pytest

from cloudstack_ext.power_view import PowerState, power_state
from provisioner.boot.token import digest
from provisioner.errors import ConflictError, OperatorError, RackwrightError
from provisioner.operations import desk, desk_records, desk_servers
from provisioner.operations.quarantine import QUARANTINE
from provisioner.operations.release import CLEAN
from provisioner.ports.controllers import PowerAct
from provisioner.secret import Secret
from provisioner.servers.manifest import manifest_of
from provisioner.servers.model import Power, PowerReading, State
from provisioner.servers.operation import AgentOrder, Outcome
from provisioner.servers.states import Ending
from provisioner.service.agent_api import AgentApi
from provisioner.service.boot_script import BootScripts
from provisioner.testing import store
from tests.asgi import call
from tests.unit.operations.world import ONE, REQUEST, image

ANN = desk.Operator(name="ann", role="admin", by="uid 0")
OTHER = store.instance_request("22222222-2222-2222-2222-222222222222")


@pytest.fixture
def held(active):
    """s1 is somebody's, s2 is free; the marker is ahead."""
    return hold(active)


def hold(active):
    active.held = "an older copy was restored"
    active.crash()
    return active


def untouched(world):
    """All that must stay: who has what, what was opened, what was pressed and moved."""
    database = world.database
    return (
        {each.name: (each.state, each.epoch, each.dirty) for each in database.servers.servers()},
        database.allocations.living(),
        len(database.operations.operations(most=1000)),
        world.ports.moves,
        [machine.power for machine in world.machines.values()],
    )


VERBS = {
    "prepare": lambda m, until: m.reserve(OTHER),
    "create": lambda m, until: m.deploy(OTHER, until=until),
    "create again": lambda m, until: m.deploy(REQUEST, until=until),
    "start": lambda m, until: m.power(REQUEST, PowerAct.ON, until=until),
    "stop": lambda m, until: m.power(REQUEST, PowerAct.OFF, until=until),
    "reboot": lambda m, until: m.power(REQUEST, PowerAct.CYCLE, until=until),
    "delete": lambda m, until: m.release(REQUEST.key, "lab", until=until),
    "delete of a stranger": lambda m, until: m.release(OTHER.key, "lab", until=until),
}


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_is_refused_and_changes_nothing(held, verb):
    before = untouched(held)
    with pytest.raises(OperatorError, match="SERVICE_HELD"):
        held.do(VERBS[verb](held.bare_metal, held.within(60.0)))
    assert untouched(held) == before


def test_status_is_unknown_whatever_is_remembered(held):
    now = held.clock.wall()
    reading = PowerReading(power=Power.ON, at=now, source="loop")
    held.database.servers.note_readings({"s1": reading})
    assert power_state(held.do(held.bare_metal.observe(REQUEST.key))) is PowerState.UNKNOWN
    assert power_state(held.do(held.bare_metal.observe(OTHER.key))) is PowerState.UNKNOWN


def entry():
    tree = {
        "name": "s9",
        "pool": "a",
        "controller": {"protocol": "ipmi", "address": "bmc9", "user": "u"},
        "firmware": "uefi",
        "nics": [{"mac": "52:54:00:99:99:99", "roles": ["provisioning"], "port": "p9"}],
        "root_disk": {"smallest_nvme": True},
    }
    return manifest_of({"version": 1, "servers": [tree]}, source="test").servers[0]


def desks(world):
    parts = {"records": world.records, "audit": world.database.audit, "held": world.held}
    return (
        desk_servers.Servers(
            **parts,
            clock=world.clock,
            rehearse=None,
            ramdisk=world.site.ramdisk,
            pace=world.site.pace,
            sites=frozenset({"lab"}),
        ),
        desk_records.Operations(
            **parts, clock=world.clock, bell=world.bell, kept=world.kept, rehearse=None
        ),
        desk_records.Shelf(**parts),
    )


ACTS = {
    "verify": ("s9", desk.Verify()),
    "inspect": ("s2", desk.Inspect()),
    "provide": ("s2", desk.Provide()),
    "adopt": ("s9", desk.Adopt(site="lab", instance=ONE)),
    "rebaseline": ("s2", desk.Rebaseline(reason="x")),
    "maintain": ("s2", desk.Maintain(reason="x")),
    "end of maintenance": ("s2", desk.EndMaintenance()),
    "quarantine": ("s1", desk.Quarantine(reason="x")),
    "retire": ("s2", desk.Retire(reason="x")),
}


def test_every_act_of_the_desk_has_a_try_here():
    assert {type(act) for _, act in ACTS.values()} == set(desk.ServerAct.__args__)


@pytest.mark.parametrize("act", ACTS)
def test_every_act_on_a_server_is_refused_and_changes_nothing(active, act):
    name, wanted = ACTS[act]
    if name == "s9":
        store.enrol(active.database, "s9")
    if act == "rebaseline":
        active.open(QUARANTINE, "s2")
        active.walk()
    held = hold(active)
    before = untouched(held)
    with pytest.raises(ConflictError, match="SERVICE_HELD"):
        held.do(desks(held)[0].act(name, wanted, ANN, dry_run=False))
    assert untouched(held) == before


def test_nothing_is_enrolled(held):
    enrol = desks(held)[0].enrol(entry(), Secret("x"), ANN, dry_run=False)
    with pytest.raises(ConflictError, match="SERVICE_HELD"):
        held.do(enrol)


def test_no_operation_is_cancelled_or_tried_again(active):
    ended = active.open(CLEAN, "s2")
    active.walk()
    running = active.open(CLEAN, "s2")
    active.held = "an older copy was restored"
    active.crash()
    before = untouched(active)
    operations = desks(active)[1]
    for act in (operations.cancel, operations.retry):
        with pytest.raises(ConflictError, match="SERVICE_HELD"):
            active.do(act(running if act == operations.cancel else ended, ANN, dry_run=False))
    assert untouched(active) == before


def test_pools_and_images_stay(held, tmp_path):
    shelf = desks(held)[2]
    for act in (shelf.put_pool(store.pool("b"), ANN), shelf.put_image(image(tmp_path), ANN)):
        with pytest.raises(ConflictError, match="SERVICE_HELD"):
            held.do(act)


def test_housekeeping_ends_nothing(held):
    held.bare_metal.held = ""
    held.do(held.bare_metal.reserve(OTHER))
    held.bare_metal.held = held.held
    held.do(held.clock.sleep(10 * held.times.reserve_for_s))
    held.do(held.housekeeping.round())
    assert held.state("s2") is State.RESERVED


# --- the provisioning network --------------------------------------------------------------
def test_agents_are_told_nothing_and_no_machine_gets_a_script(active):
    """Their orders may be those of a wipe that ended long ago."""
    release = active.ask_for_release()
    mac = active.server().provisioning_nic().mac
    for step in active.operation(release).steps[: active.operation(release).steps.index("mark")]:
        assert active.do(active.runner.run(release, step)) == "done"
    boots = active.database.boots
    boot = boots.boot_of_mac(mac)
    assert boot.served_at is not None
    token = Secret("known")
    known = Boots(boots, digest(token), boot)
    order = store_order(active, boot)
    for held, status in (("an older copy", 503), ("", 200)):
        api = AgentApi(
            boots=known,
            orders=active.database.orders,
            seeds=active.database.seeds,
            operations=active.database.operations,
            bell=active.bell,
            journal=None,
            clock=active.clock,
            stopping=asyncio.Event(),
            held=held,
        )
        reply = active.do(asked(api.app(), "/agent/v1/order?after=1", token))
        assert reply.status == status
        assert (order.kind in reply.body.decode()) is (not held)


class Boots:
    """The store's, where one more token is known."""

    def __init__(self, boots, token, boot):
        self._boots, self._token, self._boot = boots, token, boot

    def __getattr__(self, name):
        return getattr(self._boots, name)

    def boot_of_token(self, token):
        return self._boot if token == self._token else None


def store_order(world, boot):
    order = AgentOrder(
        operation=boot.operation,
        step="erase",
        number=0,
        epoch=boot.epoch,
        kind="erase",
        parameters={},
    )
    return world.database.orders.put_order(order)


async def asked(app, target, token=None):
    headers = {"Authorization": f"Bearer {token.reveal()}"} if token else {}
    return await call(app, "GET", target, b"", headers=headers, client="10.66.0.9")


def test_a_machine_that_starts_meanwhile_waits(active):
    release = active.ask_for_release()
    active.agents["s1"].boots_s = 1e6
    steps = active.operation(release).steps
    for step in steps[: steps.index("agent-called-in")]:
        assert active.do(active.runner.run(release, step)) == "done"
    mac = active.server().provisioning_nic().mac
    make = partial(
        BootScripts,
        boots=active.database.boots,
        bell=active.bell,
        calls=active.database.calls,
        script=lambda boot, token: f"script {token.reveal()}",
        shut="shut",
        url="http://10.66.0.1:8080",
        clock=active.clock,
    )
    target = f"/boot/ipxe?mac={mac}"
    reply = active.do(asked(make(held="an older copy").app(), target))
    assert "sleep 1" in reply.body.decode()
    assert active.database.boots.boot_of_mac(mac).served_at is None
    assert active.do(asked(make().app(), target)).body.startswith(b"script ")


# --- the marker ----------------------------------------------------------------------------
def test_a_copy_from_the_middle_of_a_deployment_is_an_old_memory(world, tmp_path):
    """It would image the server again, under the tenant who has it by now."""
    operation = world.ask_for_deployment()
    steps = world.operation(operation).steps
    for step in steps[: steps.index("write-image")]:
        assert world.do(world.runner.run(operation, step)) == "done"
    copied(world, tmp_path / "copy")
    world.walk()
    assert world.state() is State.ACTIVE
    world.database.close()
    shutil.copy(world.folder / "marker", tmp_path / "copy")
    restored = store.open_store(tmp_path / "copy", world.clock)
    assert "an older copy was restored" in restored.generation.held.reason
    restored.close()


def test_a_marker_that_cannot_follow_keeps_no_server_from_its_quarantine(active):
    """Its disk is full: nothing is handed out then, but what must be made safe is."""
    (active.folder / "marker.new").mkdir()
    active.open(QUARANTINE)
    active.walk()
    assert active.state() is State.QUARANTINED
    assert active.power_of() is Power.OFF
    with pytest.raises(OperatorError, match="DATABASE_FAILED"):
        active.do(active.bare_metal.reserve(OTHER))
    (active.folder / "marker.new").rmdir()
    assert active.do(active.bare_metal.reserve(OTHER)).server == "s2"


def test_a_held_store_begins_and_ends_no_operation(active, tmp_path):
    running = active.open(CLEAN, "s2")
    copied(active, tmp_path / "copy")
    active.database.close()
    marker = tmp_path / "copy" / "marker"
    marker.unlink()
    held = store.open_store(tmp_path / "copy", active.clock)
    now = active.clock.wall()
    tries = {
        "open": lambda: held.operations.open("s1", store.operation("quarantine"), now=now),
        "cancel": lambda: held.operations.cancel(running, "ann", store.follow, now=now),
        "close": lambda: store.close(held, "s2", Outcome(ending=Ending.MACHINE)),
    }
    for act in tries.values():
        with pytest.raises(RackwrightError, match="SERVICE_HELD"):
            act()
    assert held.operations.operation(running).status == "open"
    held.close()


def copied(world, folder):
    """A consistent copy of the database, as a backup makes it."""
    folder.mkdir()
    with (
        closing(sqlite3.connect(world.folder / "rackwright.db")) as source,
        closing(sqlite3.connect(folder / "rackwright.db")) as target,
    ):
        source.backup(target)
    shutil.copy(world.folder / "marker", folder)
