import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provisioner.agent.disks import resolve
from provisioner.agent.order import OrderFailedError
from provisioner.hardware.inventory import Cpu, Disk, Firmware, Inventory, System, Transport


def disk(name, **fields):
    given = {
        "name": name,
        "path": f"/dev/{name}",
        "serial": f"serial-{name}",
        "wwn": f"naa.{name}",
        "model": "Model",
        "firmware": "1",
        "bytes": 1 << 30,
        "logical_sector_bytes": 512,
        "physical_sector_bytes": 512,
        "rotational": False,
        "removable": False,
        "read_only": False,
        "transport": Transport.NVME,
        "has_partition_table": False,
    }
    return Disk(**{**given, **fields})


def inventory(*disks):
    return Inventory(
        system=System(uuid=None, serial=None, manufacturer=None, product=None),
        firmware=Firmware(mode="bios"),
        cpu=Cpu(vendor=None, model=None, sockets=1, threads=1),
        memory_bytes=1,
        disks=disks,
        nics=(),
    )


def reference(one):
    return {"serial": one.serial, "wwn": one.wwn, "model": one.model, "bytes": one.bytes}


def test_a_disk_is_found_by_all_that_names_it():
    one, two = disk("sda"), disk("sdb")
    assert resolve(reference(two), inventory(one, two)) is two


def test_a_disk_without_serial_is_found_by_the_rest():
    one = disk("vda", serial=None)
    assert resolve(reference(one), inventory(one, disk("vdb", bytes=7))) is one


@pytest.mark.parametrize(
    "changed",
    [{"serial": "other"}, {"wwn": "naa.other"}, {"model": "Other"}, {"bytes": 512}],
)
def test_one_difference_is_another_disk(changed):
    one = disk("sda")
    with pytest.raises(OrderFailedError) as failed:
        resolve({**reference(one), **changed}, inventory(one))
    assert failed.value.code == "DISK_NOT_FOUND"


def test_two_that_fit_are_none():
    one = disk("sda", serial=None, wwn=None)
    two = disk("sdb", serial=None, wwn=None)
    with pytest.raises(OrderFailedError) as failed:
        resolve(reference(one), inventory(one, two))
    assert failed.value.code == "DISK_AMBIGUOUS"


@pytest.mark.parametrize(
    "fields",
    [
        *({"transport": each} for each in list(Transport)[-7:]),
        {"removable": True},
        {"read_only": True},
    ],
)
def test_what_is_not_the_servers_own_writable_disk_is_refused(fields):
    one = disk("sda", **fields)
    with pytest.raises(OrderFailedError) as failed:
        resolve(reference(one), inventory(one))
    assert failed.value.code == "DISK_FABRIC"


@given(
    st.dictionaries(
        st.sampled_from(["serial", "wwn", "model", "bytes", "path"]),
        st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.integers()),
    )
)
def test_no_reference_crashes(given):
    with contextlib.suppress(OrderFailedError):
        assert resolve(given, inventory(disk("sda"), disk("sdb"))).path.startswith("/dev/")
