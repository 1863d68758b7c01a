"""Start, stop and reboot, step by step."""

from provisioner.ports.controllers import BootDevice
from provisioner.servers.model import Placement, Power, State
from tests.unit.operations.calls import START
from tests.unit.operations.world import tenant

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
