"""Which disk gets the image: exactly one, by the rule, and never one that is not ours."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provisioner.errors import ErrorCode, InputError
from provisioner.hardware.inventory import FABRIC, Transport
from provisioner.servers.model import ExcludedDisk, RootDiskRule
from provisioner.servers.root_disk import NEVER_OURS, own_disks, root_disk, unclaimed
from provisioner.testing.store import inventory

BASE = inventory("00000000-0000-0000-0000-000000000001", "52:54:00:00:00:01").disks[0]
GIB = 2**30


def disk(serial, **fields):
    usual = {"transport": Transport.SATA, "bytes": 100 * GIB, "model": "M", "wwn": f"naa.{serial}"}
    return replace(BASE, serial=serial, name=serial, **{**usual, **fields})


SMALL = disk("small", transport=Transport.NVME, bytes=50 * GIB, bus_path="pci-0-nvme-1")
LARGE = disk("large", transport=Transport.NVME, bytes=400 * GIB, model="Fast")
SPIN = disk("spin", rotational=True, bytes=900 * GIB)
ALL = (LARGE, SPIN, SMALL)


def chosen(rule, disks=ALL, image=GIB, sector=512):
    return root_disk(rule, disks, image_bytes=image, sector_bytes=sector)


RULES = {
    "serial": (RootDiskRule(serial="spin"), SPIN),
    "wwn": (RootDiskRule(wwn="naa.large"), LARGE),
    "model": (RootDiskRule(model="Fast"), LARGE),
    "at least": (RootDiskRule(min_bytes=500 * GIB), SPIN),
    "at most": (RootDiskRule(max_bytes=60 * GIB), SMALL),
    "spinning": (RootDiskRule(rotational=True), SPIN),
    "smallest NVMe": (RootDiskRule(smallest_nvme=True), SMALL),
    "smallest NVMe of those that are large enough": (
        RootDiskRule(smallest_nvme=True, min_bytes=100 * GIB),
        LARGE,
    ),
    "path": (RootDiskRule(path="pci-0-nvme-1"), SMALL),
    "all that is named must hold": (RootDiskRule(model="M", rotational=False), SMALL),
}


@pytest.mark.parametrize("name", RULES)
def test_a_rule_picks_the_one_disk_that_it_names(name):
    rule, expected = RULES[name]
    assert chosen(rule) is expected


REFUSED = {
    "none by that serial": (RootDiskRule(serial="gone"), ALL, {}, "DISK_NOT_FOUND"),
    "no NVMe": (RootDiskRule(smallest_nvme=True), (SPIN,), {}, "DISK_NOT_FOUND"),
    "no disk at all": (RootDiskRule(), (), {}, "DISK_NOT_FOUND"),
    "a rule that says nothing": (RootDiskRule(), ALL, {}, "DISK_AMBIGUOUS"),
    "two smallest": (
        RootDiskRule(smallest_nvme=True),
        (SMALL, replace(SMALL, serial="twin")),
        {},
        "DISK_AMBIGUOUS",
    ),
    "too small": (RootDiskRule(serial="small"), ALL, {"image": 51 * GIB}, "DISK_TOO_SMALL"),
    "4K image, 512 disk": (RootDiskRule(serial="small"), ALL, {"sector": 4096}, "DISK_SECTOR_SIZE"),
    "512 image, 4K disk": (
        RootDiskRule(),
        (replace(SPIN, logical_sector_bytes=4096),),
        {},
        "DISK_SECTOR_SIZE",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_anything_but_one_fitting_disk_is_refused(name):
    rule, disks, more, code = REFUSED[name]
    with pytest.raises(InputError) as caught:
        chosen(rule, disks, **more)
    assert caught.value.code is ErrorCode(code)


def test_the_smallest_is_not_replaced_by_one_that_would_fit():
    with pytest.raises(InputError, match="DISK_TOO_SMALL"):
        chosen(RootDiskRule(smallest_nvme=True), image=60 * GIB)


# --- own disks -------------------------------------------------------------------------------
@pytest.mark.parametrize("transport", Transport)
def test_a_disk_over_a_fabric_refuses_the_server_and_a_removable_one_is_left_out(transport):
    seen = (SPIN, disk("x", transport=transport))
    if transport in FABRIC:
        with pytest.raises(InputError, match="DISK_FABRIC") as caught:
            own_disks(seen, ())
        assert "naa.x" in caught.value.brief
    elif transport in NEVER_OURS:
        assert own_disks(seen, ()) == (SPIN,)
    else:
        assert own_disks(seen, ()) == seen


def test_what_an_operator_lists_is_left_out_by_its_wwn_alone():
    fabric = disk("x", transport=Transport.FC)
    listed = (ExcludedDisk(wwn="naa.x", name="san"),)
    assert own_disks((SPIN, fabric), listed) == (SPIN,)
    with pytest.raises(InputError, match="DISK_FABRIC"):
        own_disks((fabric,), (ExcludedDisk(wwn="naa.y", name="x"),))


def test_read_only_and_removable_disks_are_not_ours():
    seen = (replace(SPIN, read_only=True), replace(SPIN, removable=True))
    assert own_disks(seen, ()) == ()
    assert unclaimed(seen, ()) == seen


@pytest.mark.parametrize("transport", sorted(set(Transport) - FABRIC))
def test_a_medium_is_the_server_s_own_or_listed_or_nobody_has_said_whose_it_is(transport):
    seen = (SPIN, disk("x", transport=transport))
    listed = (ExcludedDisk(wwn="naa.x", name="stick"),)
    assert unclaimed(seen, listed) == ()
    left = set(seen) - set(own_disks(seen, ()))
    assert set(unclaimed(seen, ())) == (set() if transport is Transport.OPTICAL else left)


some_disks = st.lists(
    st.builds(
        lambda serial, size, kind, spins, sector: disk(
            serial, bytes=size, transport=kind, rotational=spins, logical_sector_bytes=sector
        ),
        st.sampled_from("ABC"),
        st.sampled_from([GIB, 2 * GIB, 3 * GIB]),
        st.sampled_from([Transport.NVME, Transport.SATA]),
        st.booleans(),
        st.sampled_from([512, 4096]),
    ),
    max_size=5,
)
some_rules = st.builds(
    RootDiskRule,
    serial=st.sampled_from([None, "A", "B"]),
    min_bytes=st.sampled_from([None, 2 * GIB]),
    max_bytes=st.sampled_from([None, 2 * GIB]),
    rotational=st.sampled_from([None, True, False]),
    smallest_nvme=st.booleans(),
)


@given(some_rules, some_disks)
def test_whatever_is_chosen_matches_the_whole_rule_and_fits(rule, disks):
    try:
        found = chosen(rule, disks, image=2 * GIB)
    except InputError:
        return
    assert found in disks
    assert found.bytes >= 2 * GIB
    assert found.logical_sector_bytes == 512
    assert rule.serial in {None, found.serial}
    assert rule.rotational in {None, found.rotational}
    assert rule.min_bytes is None or found.bytes >= rule.min_bytes
    assert rule.max_bytes is None or found.bytes <= rule.max_bytes
    if rule.smallest_nvme:
        assert found.transport is Transport.NVME


@given(some_rules, some_disks)
def test_the_order_of_the_disks_decides_nothing(rule, disks):
    def outcome(some):
        try:
            return chosen(rule, some)
        except InputError as error:
            return error.code

    assert outcome(disks) == outcome(disks[::-1])
