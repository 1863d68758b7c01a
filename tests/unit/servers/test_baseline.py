"""The machine that is remembered, against the one that called in."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provisioner.hardware.inventory import Transport
from provisioner.servers.baseline import differences, gone, strange
from provisioner.servers.model import ControllerIdentity
from provisioner.testing.store import inventory, new_server, replace_disks

UUID = "01020304-0506-0708-090a-0b0c0d0e0f10"
SWAPPED = "04030201-0605-0807-090a-0b0c0d0e0f10"
OTHER = "ffffffff-0000-0000-0000-000000000001"
SERVER = new_server("s1")
FACTS = inventory(UUID, SERVER.nics[0].mac)
KNOWN = replace(SERVER, baseline=FACTS, identity=ControllerIdentity(system_uuid=UUID))
DISK = FACTS.disks[0]
TWIN = replace(DISK, serial=None, wwn=None, model="QEMU HARDDISK")


def with_disks(*disks):
    return replace(FACTS, disks=disks)


def with_system(**fields):
    return replace(FACTS, system=replace(FACTS.system, **fields))


SAME = {
    "itself": FACTS,
    "another kernel name": replace_disks(FACTS, name="nvme7n1", path="/dev/nvme7n1"),
    "a partition table": replace_disks(FACTS, has_partition_table=True),
    "newer disk firmware": replace_disks(FACTS, firmware="2"),
    "link down": replace(FACTS, nics=(replace(FACTS.nics[0], link=False, driver=None),)),
    "a MAC in capitals": replace(
        FACTS, nics=(replace(FACTS.nics[0], mac=SERVER.nics[0].mac.upper()),)
    ),
    "a stick more": with_disks(DISK, replace(DISK, serial="U", transport=Transport.USB)),
    "an optical drive more": with_disks(
        DISK, replace(DISK, serial="O", transport=Transport.OPTICAL)
    ),
    "a fabric disk more": with_disks(DISK, replace(DISK, serial="F", transport=Transport.FC)),
    "a removable one more": with_disks(DISK, replace(DISK, serial="R", removable=True)),
}


@pytest.mark.parametrize("name", SAME)
def test_what_may_change_is_no_difference(name):
    assert differences(KNOWN, SAME[name]) == ()


DIFFERENT = {
    "disk missing": (with_disks(), "of the baseline is missing"),
    "disk added": (with_disks(DISK, replace(DISK, serial="NEW")), "NEW is not in the baseline"),
    "disk swapped": (replace_disks(FACTS, serial="NEW"), "NEW is not in the baseline"),
    "other size": (replace_disks(FACTS, bytes=DISK.bytes - 512), "bytes are remembered"),
    "other uuid": (with_system(uuid=OTHER), "system uuid"),
    "no uuid": (with_system(uuid=None), "system uuid"),
    "other serial": (with_system(serial="S2"), "system serial"),
    "other mode": (replace(FACTS, firmware=replace(FACTS.firmware, mode="bios")), "firmware mode"),
    "card missing": (replace(FACTS, nics=()), "network card"),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_may_not_change_is_named(name):
    seen, words = DIFFERENT[name]
    assert words in "; ".join(differences(KNOWN, seen))


def test_of_disks_that_look_alike_each_one_counts():
    twins = replace(KNOWN, baseline=with_disks(TWIN, TWIN))
    assert differences(twins, with_disks(TWIN, replace(TWIN, name="sdb"))) == ()
    assert differences(twins, with_disks(TWIN)) == (
        "disk QEMU HARDDISK of the baseline is missing",
    )
    assert differences(twins, with_disks(TWIN, TWIN, TWIN)) == (
        "disk QEMU HARDDISK is not in the baseline",
    )
    assert len(differences(twins, with_disks(TWIN, replace(TWIN, bytes=512)))) == 1


def test_before_the_first_inspection_the_controllers_uuid_is_compared_in_both_orders():
    new = replace(KNOWN, baseline=None)
    for uuid in (UUID, SWAPPED, UUID.upper()):
        assert differences(new, with_system(uuid=uuid)) == ()
    assert "the controller says" in "".join(differences(new, with_system(uuid=OTHER)))
    assert "the controller says" in "".join(differences(new, with_system(uuid=None)))
    nameless = replace(new, identity=ControllerIdentity(system_uuid=None, serial="B1"))
    assert differences(nameless, with_system(uuid=OTHER)) == ()


disks = st.lists(
    st.builds(
        lambda serial, size: replace(DISK, serial=serial, bytes=size),
        st.sampled_from(["A", "B", None]),
        st.sampled_from([512, 1024]),
    ),
    max_size=4,
)


@given(disks, disks)
def test_disks_are_the_same_only_if_they_are_the_same_one_by_one(remembered, seen):
    found = differences(replace(KNOWN, baseline=with_disks(*remembered)), with_disks(*seen))

    def counted(some):
        return sorted((each.serial or "", each.bytes) for each in some)

    assert (found == ()) is (counted(remembered) == counted(seen))


# --- after a repair -------------------------------------------------------------------------------
NEW_CARD = replace(FACTS.nics[0], mac="52:54:00:ff:ff:01")
NAMELESS = replace(FACTS, system=replace(FACTS.system, uuid=None, serial=None))
REPAIRED = {
    "itself": FACTS,
    "another disk": replace_disks(FACTS, serial="NEW"),
    "no disk": with_disks(),
    "more memory": replace(FACTS, memory_bytes=2 * FACTS.memory_bytes),
    "another processor": replace(FACTS, cpu=replace(FACTS.cpu, threads=128)),
    "a card more": replace(FACTS, nics=(*FACTS.nics, NEW_CARD)),
    "a new board's firmware": replace(FACTS, firmware=replace(FACTS.firmware, version="9")),
}


@pytest.mark.parametrize("name", REPAIRED)
def test_parts_may_be_others_after_a_repair(name):
    assert strange(KNOWN, REPAIRED[name]) == ()


ELSE = {
    "other uuid": (KNOWN, with_system(uuid=OTHER), "system uuid"),
    "uuid lost": (KNOWN, with_system(uuid=None), "system uuid"),
    "other serial": (KNOWN, with_system(serial="S2"), "system serial"),
    "serial lost": (KNOWN, with_system(serial=None), "system serial"),
    "enrolled card missing": (KNOWN, replace(FACTS, nics=(NEW_CARD,)), "is missing"),
    "no card of before, although enrolled anew": (
        replace(KNOWN, nics=(replace(SERVER.nics[0], mac=NEW_CARD.mac),)),
        replace(FACTS, nics=(NEW_CARD,)),
        "no network card of before",
    ),
    "nothing that names it": (replace(KNOWN, baseline=NAMELESS), NAMELESS, "neither uuid nor"),
    "no baseline": (SERVER, FACTS, "nothing is remembered"),
}


@pytest.mark.parametrize("name", ELSE)
def test_who_it_is_may_not_be_another(name):
    server, seen, said = ELSE[name]
    assert said in "; ".join(strange(server, seen))


GONE = {
    "nothing": (FACTS, FACTS, []),
    "one added": (FACTS, with_disks(DISK, replace(DISK, serial="NEW")), []),
    "one away": (FACTS, with_disks(), [f"disk Example {DISK.serial} of {DISK.bytes} bytes"]),
    "one in place of another": (
        FACTS,
        replace_disks(FACTS, serial="NEW"),
        [f"disk Example {DISK.serial} of {DISK.bytes} bytes"],
    ),
    "one that is smaller now": (
        FACTS,
        replace_disks(FACTS, bytes=512),
        [f"disk Example {DISK.serial} of {DISK.bytes} bytes"],
    ),
    "one of two that look alike": (
        with_disks(TWIN, TWIN),
        with_disks(TWIN),
        [f"disk QEMU HARDDISK of {DISK.bytes} bytes"],
    ),
    "a stick": (with_disks(replace(DISK, transport=Transport.USB)), with_disks(), []),
}


@pytest.mark.parametrize("name", GONE)
def test_what_went_away_is_named(name):
    before, after, said = GONE[name]
    assert list(gone(before, after)) == said
