import uuid
from pathlib import Path

import pytest

from provisioner.lab.layout import BIOS1, UEFI1, LabPaths, Layout


def test_the_labs_folder_is_in_the_users_cache():
    assert LabPaths.of({"HOME": "/home/a"}).state == Path("/home/a/.cache/rackwright/lab")
    assert LabPaths.of({"HOME": "/home/a", "XDG_CACHE_HOME": "/c"}).cache == Path("/c/rackwright")


def test_a_folder_whose_sockets_would_not_fit_is_known_before_anything_starts():
    assert LabPaths(state=Path("/" + "x" * 80), cache=Path("/c")).is_too_long
    assert not LabPaths.of({"HOME": "/home/somebody"}).is_too_long


def test_two_racks_share_no_namespace():
    first, second = Layout(), Layout(prefix="other")

    assert {first.rack, first.tenant}.isdisjoint({second.rack, second.tenant})


def test_servers_differ_in_everything_that_identifies_them():
    for value in ("name", "mac", "serial", "controller", "tap", "uuid"):
        assert getattr(BIOS1, value) != getattr(UEFI1, value)
    serials = [disk.serial for server in (BIOS1, UEFI1) for disk in server.disks]
    files = [disk.source.file for server in (BIOS1, UEFI1) for disk in server.disks]
    assert len(set(serials)) == len(serials)
    assert len(set(files)) == len(files)


def test_a_uuid_tells_its_two_byte_orders_apart():
    for server in (BIOS1, UEFI1):
        assert uuid.UUID(bytes=server.uuid.bytes_le) != server.uuid


def test_a_server_is_found_by_name():
    assert Layout().server("uefi1") is UEFI1
    with pytest.raises(KeyError):
        Layout().server("other")
