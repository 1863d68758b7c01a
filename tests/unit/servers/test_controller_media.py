"""Which drives that a controller names are accounted for by what the machine shows."""

from dataclasses import replace

import pytest

from provisioner.servers.controller_media import NamedMedium, hidden
from provisioner.servers.model import ExcludedDisk
from provisioner.testing import store

DISK = replace(
    store.inventory("u", "52:54:00:00:00:01").disks[0],
    serial="ZC1A2B3C0000R123ABCD",
    wwn="naa.5000c500a1b2c3d4",
)


def medium(**said):
    return NamedMedium(name="Disk.Bay.1", **said)


@pytest.mark.parametrize(
    "named",
    [
        medium(serial="ZC1A2B3C0000R123ABCD"),
        medium(serial=" zc1a2b3c0000r123abcd "),
        medium(serial="ZC1A2B3C"),
        medium(wwns=("5000C500A1B2C3D4",)),
        medium(serial="another", wwns=("0x5000c500a1b2c3d4",)),
        medium(wwns=("50-00-C5-00-A1-B2-C3-D4",)),
    ],
    ids=str,
)
def test_a_drive_that_the_machine_shows_too_is_accounted_for(named):
    assert hidden([named], [DISK], []) == ()


@pytest.mark.parametrize(
    "named",
    [
        medium(),
        medium(serial=""),
        medium(serial="  "),
        medium(serial="ZC1A2B3"),
        medium(serial="ZC1A2B3C0000R123ABCE"),
        medium(serial="R123ABCD"),
        medium(wwns=("5000c500a1b2c3d5",)),
        medium(model=DISK.model, bytes=DISK.bytes),
    ],
    ids=str,
)
def test_any_other_is_hidden(named):
    assert hidden([named], [DISK], []) == (named,)


def test_a_disk_that_says_nothing_of_itself_accounts_for_no_drive():
    silent = replace(DISK, serial=None, wwn=None)
    assert hidden([medium(), medium(serial="x" * 20)], [silent], []) != ()


def test_what_an_operator_has_listed_is_not_hidden():
    listed = ExcludedDisk(wwn="0x5000C500FFFFFFFF", name="boot card")
    assert hidden([medium(wwns=("naa.5000c500ffffffff",))], [DISK], [listed]) == ()


def test_a_label_leaves_out_what_nobody_said():
    assert medium(serial="S1", model="M").label() == "Disk.Bay.1 M S1"
    assert medium().label() == "Disk.Bay.1"
