"""14: a disk that is not the server's own is neither written nor erased, and refuses the server.

What the agent itself refuses once more: tests/unit/agent/test_disks.py.
"""

from dataclasses import replace

import pytest

from provisioner.errors import InputError
from provisioner.hardware.inventory import FABRIC, Transport
from provisioner.operations.inspect import INSPECT
from provisioner.servers.model import ExcludedDisk, State
from provisioner.servers.root_disk import own_disks
from provisioner.testing import store

WWN = "0x5000c500a1b2c3d4"
LISTED = ExcludedDisk(wwn=WWN, name="backup array, LUN 3")


def lun(facts, transport, wwn=WWN):
    one = replace(facts.disks[0], name="sdx", serial="LUN3", wwn=wwn, transport=transport)
    return replace(facts, disks=(*facts.disks, one))


def sees(world, transport=Transport.FC, wwn=WWN, name="s1"):
    world.agents[name].facts = lun(world.server(name).baseline, transport, wwn)


ACTS = {"mark", "erase", "verify", "write_image", "write_seed", "set_boot_order"}


@pytest.mark.parametrize("transport", sorted(FABRIC))
@pytest.mark.parametrize("wwn", [WWN, None])
def test_a_disk_over_a_fabric_refuses_the_server_until_it_is_listed(transport, wwn):
    disks = lun(store.inventory("1" * 32, "52:54:00:00:00:01"), transport, wwn).disks
    with pytest.raises(InputError, match="DISK_FABRIC"):
        own_disks(disks, ())
    with pytest.raises(InputError, match="DISK_FABRIC"):
        own_disks(disks, (replace(LISTED, wwn="0x1"),))
    if wwn:
        assert [each.name for each in own_disks(disks, (LISTED,))] == ["nvme0n1"]


def test_a_release_touches_no_disk_of_a_server_that_sees_one(active):
    sees(active)
    release = active.ask_for_release()
    active.walk()
    assert active.operation(release).code in {"DISK_FABRIC", "FACTS_DIFFER"}
    assert not ACTS & set(active.agents["s1"].done)
    assert (active.state(), active.server().dirty) == (State.QUARANTINED, True)


def test_a_deployment_touches_no_disk_of_a_server_that_sees_one(world):
    sees(world)
    operation = world.ask_for_deployment()
    world.walk()
    assert world.operation(operation).code in {"DISK_FABRIC", "FACTS_DIFFER"}
    assert not ACTS & set(world.agents["s1"].done)
    assert world.state() is State.QUARANTINED


def test_a_deployment_to_a_server_whose_baseline_has_one_touches_no_power(world):
    operation = world.ask_for_deployment()
    world.database.servers.change("s1", baseline=lun(world.server().baseline, Transport.ISCSI))
    world.walk()
    assert world.operation(operation).code == "DISK_FABRIC"
    assert world.machines["s1"].calls == []


def test_a_server_whose_baseline_has_one_is_not_handed_out(world):
    world.database.servers.change("s1", baseline=lun(world.server().baseline, Transport.ISCSI))
    world.ask_for_deployment()
    assert world.allocation().server == "s2"
    assert world.state() is State.AVAILABLE


def test_an_inspection_of_a_server_that_sees_one_stores_no_baseline(world):
    store.enrol(world.database, "s3")
    identity = store.ControllerIdentity(system_uuid="aaaaaaaa-0000-0000-0000-000000000003")
    world.database.servers.change("s3", identity=identity)
    world.put_in_rack("s3")
    mac = world.server("s3").nics[0].mac
    world.agents["s3"].facts = lun(store.inventory(identity.system_uuid, mac), Transport.FC)
    inspection = world.open(INSPECT, "s3")
    world.walk()
    assert world.operation(inspection).code == "DISK_FABRIC"
    assert world.server("s3").baseline is None
    assert world.state("s3") is State.QUARANTINED


def test_a_listed_one_is_in_no_order_and_in_the_evidence(active):
    active.database.servers.change("s1", excluded_disks=(LISTED,))
    sees(active)
    release = active.ask_for_release()
    active.walk()
    assert active.operation(release).code is None
    for step in ("mark", "erase", "verify"):
        assert WWN not in str(active.database.orders.order(release, step).parameters)
    document = active.database.evidence.records()[-1]["document"]
    assert {"wwn": WWN, "name": LISTED.name} in document["baseline"]["excluded"]
    assert any(LISTED.name in line for line in document["not_covered"])


def test_the_image_goes_to_no_disk_but_the_servers_own(world):
    """Even where the root-disk rule would fit both."""
    world.database.servers.change("s1", excluded_disks=(LISTED,))
    sees(world, Transport.NVME_OF)
    operation = world.ask_for_deployment()
    world.walk()
    written = world.database.orders.order(operation, "write-image").parameters["disk"]
    assert written["serial"] == world.server().baseline.disks[0].serial
