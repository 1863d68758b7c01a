"""15: one machine is one server, however its controllers spell its uuid."""

from dataclasses import replace

import pytest

from provisioner.errors import ConflictError
from provisioner.operations.inspect import VERIFY
from provisioner.secret import Secret
from provisioner.servers.identity import swapped
from provisioner.servers.model import ControllerIdentity, Power, State
from provisioner.testing import store

SPELLINGS = {
    "as it is": lambda uuid: uuid,
    "in capitals": str.upper,
    "in the other byte order": swapped,
    "in the other byte order, in capitals": lambda uuid: swapped(uuid).upper(),
}


def said(uuid):
    return ControllerIdentity(system_uuid=uuid)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_second_controller_of_a_known_machine_is_not_taken_over(active, spelling):
    """IPMI and Redfish of one board may speak of its uuid differently (servers/identity.py)."""
    uuid = SPELLINGS[spelling](active.server().identity.system_uuid)
    store.enrol(active.database, "s3")
    active.put_in_rack("s3", identity=said(uuid), power=Power.OFF)
    verification = active.open(VERIFY, "s3")
    active.walk()
    assert active.operation(verification).code == "SERVER_EXISTS"
    assert active.state("s3") is State.ENROLLED
    assert not any("power o" in each for each in active.machines["s3"].calls)
    assert active.power_of("s1") is Power.ON


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_what_the_agent_reads_is_compared_with_what_controllers_say(world, spelling):
    """One was inspected before its controller said a uuid, the other after."""
    uuid = world.server().baseline.system.uuid
    world.database.servers.change("s1", identity=ControllerIdentity(system_uuid=None, serial="x"))
    store.enrol(world.database, "s3")
    with pytest.raises(ConflictError, match="SERVER_EXISTS"):
        world.database.servers.change("s3", identity=said(SPELLINGS[spelling](uuid)))


def test_the_same_machine_may_be_spelled_in_both_ways_by_controller_and_board(world):
    server = world.server()
    identity = said(swapped(server.baseline.system.uuid))
    world.database.servers.change("s1", identity=identity)
    assert world.server().identity == identity


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_retired_machine_comes_back_dirty_however_it_is_spelled(world, spelling):
    uuid = world.server().identity.system_uuid
    world.database.operations.open("s1", store.operation("retire"), now=world.clock.wall())
    store.close(world.database, "s1")
    store.enrol(world.database, "s3")
    world.database.servers.change("s3", identity=said(SPELLINGS[spelling](uuid)))
    assert world.server("s3").dirty


def test_a_controllers_address_is_one_servers(world):
    taken = world.server().controller
    record = store.new_server("s3")
    for host in (taken.host, taken.host.upper()):
        again = replace(record, controller=replace(taken, host=host))
        with pytest.raises(ConflictError, match="SERVER_EXISTS"):
            world.database.servers.enrol(again, Secret("x"))
