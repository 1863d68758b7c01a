"""Eleven deployments at once, ten of them on a machine with a fault of its own."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from cloudstack_ext.contract import Verb
from cloudstack_ext.lab.instances import instance_of
from cloudstack_ext.lab.payload import lab_payload
from cloudstack_ext.management_server.wire import wire
from provisioner.agent.order import OrderFailedError
from provisioner.hardware.inventory import Transport
from provisioner.servers.model import Placement
from tests.service.faults.site import POOL_OF_FAULTS, Site

pytestmark = pytest.mark.emulated


def set_to(name, value):
    return lambda machine: setattr(machine.board, name, value)


def fails(code):
    def order(*_):
        raise OrderFailedError(code, "as the test says")

    return lambda machine: machine.orders.update(write_image=order)


def is_another(machine):
    machine.board.identity = replace(machine.board.identity, system_uuid="0" * 32)


def lost_a_disk(machine):
    facts = replace(machine.facts(), disks=())
    machine.facts = lambda: facts


def sees_a_fabric(machine):
    facts = machine.facts()
    foreign = replace(facts.disks[0], name="sdz", serial="Z", wwn="0x5", transport=Transport.FC)
    facts = replace(facts, disks=(*facts.disks, foreign))
    machine.facts = lambda: facts


def has_a_stuck_port(machine):
    machine.rack.ports.stuck.add(machine.port)


def is_listened_to(machine):
    """A stranger on the provisioning network asks for the script that the machine has taken."""

    def write_image(*_):
        machine._ask_for_script()
        return {}

    machine.orders["write_image"] = write_image


FAULTS = {
    "f01": (set_to("password", "changed"), "CONTROLLER_PASSWORD", "QUARANTINED"),
    "f02": (set_to("nonsense", True), "CONTROLLER_NONSENSE", "QUARANTINED"),
    "f03": (is_another, "OTHER_MACHINE", "QUARANTINED"),
    "f04": (lost_a_disk, "FACTS_DIFFER", "QUARANTINED"),
    "f05": (sees_a_fabric, "DISK_FABRIC", "QUARANTINED"),
    "f06": (fails("IMAGE_DIGEST"), "IMAGE_DIGEST", "AVAILABLE"),
    "f07": (fails("DISK_FAILED"), "DISK_FAILED", "QUARANTINED"),
    "f08": (fails("BLOBS_UNREACHABLE"), "BLOBS_UNREACHABLE", "AVAILABLE"),
    "f09": (has_a_stuck_port, "PORT_NOT_SET", "QUARANTINED"),
    "f10": (is_listened_to, "BOOT_TOKEN_TAKEN", "QUARANTINED"),
    "f11": (lambda _machine: None, "", "ACTIVE"),
}
NOBODY_KNOWS = {"f01", "f02", "f03"}
"""Their controllers do not say whether they are off."""


@pytest.fixture(scope="module")
def faulty(tmp_path_factory):
    site = Site(tmp_path_factory.mktemp("f"), FAULTS)
    try:
        site.furnish()
        site.start()
        yield site
    finally:
        site.close()


def create(site, instance):
    body = json.loads(lab_payload(Verb.CREATE, instance_of(instance)))
    body["externaldetails"]["host"]["pool"] = POOL_OF_FAULTS
    return site.send("create", wire(body))


@pytest.mark.rack_long  # a minute, much of it to make eleven servers; needs no rack
def test_each_fault_ends_its_own_deployment_and_no_other(faulty):
    for name, (begin, _, _) in FAULTS.items():
        begin(faulty.rack[name])
    with ThreadPoolExecutor(len(FAULTS)) as callers:
        asked = {f"i-{name}": callers.submit(create, faulty, f"i-{name}") for name in FAULTS}
        ended = {instance_of(each).uuid: (each, asked[each].result()) for each in asked}
    for name, (_, code, state) in FAULTS.items():
        faulty.until_state(name, state)
        ((uuid,),) = faulty.rows("SELECT instance FROM allocation WHERE server = ?", name)
        instance, answer = ended[uuid]
        assert answer.code == code, answer.body
        assert answer.text.isprintable()
        if code:
            again = create(faulty, instance)  # remembered: answered at once, nothing is tried
            assert (again.code, again.text) == (answer.code, answer.text)
            assert again.seconds < 1
    faulty.until(
        lambda: not faulty.rows("SELECT * FROM operation WHERE status = 'open'"), "rest", 120.0
    )
    for name, (_, _, state) in FAULTS.items():
        if state == "QUARANTINED":
            at_rest(faulty, faulty.rack[name])
    # a refused password is tried once by the operation, and by nobody again
    assert faulty.rack["f01"].board.password_tries == 1


def at_rest(site, machine):
    """Off and cut off; cut off alone where its controller does not say; dirty once it was on."""
    ((dirty,),) = site.rows("SELECT dirty FROM server WHERE name = ?", machine.name)
    place = site.rack.ports._places[machine.port].placement
    if machine.name in NOBODY_KNOWS:
        assert (place, dirty) == (Placement.SHUT, 0), machine.name
        return
    assert not machine.is_on()
    if machine.port not in site.rack.ports.stuck:
        assert (place, dirty) == (Placement.QUARANTINE, 1), machine.name
