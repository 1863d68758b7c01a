from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provisioner.errors import ErrorCode, InputError
from provisioner.ramdisk.apt import parse_records
from provisioner.ramdisk.build import shipped_lock
from provisioner.ramdisk.contents import (
    contents,
    drivers,
    packages,
    parse_contents,
    rescue_contents,
    rescue_drivers,
)
from provisioner.ramdisk.lock import Lock, LockedPackage, parse_lock, parse_package_name, write_lock
from provisioner.ramdisk.update import changes

PACKAGES = st.builds(
    LockedPackage,
    name=st.text("abc0", min_size=1, max_size=9).map(lambda text: f"lib{text}-1.0+b"),
    version=st.text("0123456789", min_size=1, max_size=9).map(lambda text: f"1:{text}~rc1+deb12u1"),
    sha256=st.binary(min_size=32, max_size=32).map(bytes.hex),
    size_bytes=st.integers(min_value=0, max_value=1 << 32),
)


@given(
    st.lists(PACKAGES, min_size=1, max_size=5, unique_by=lambda each: each.name),
    st.integers(min_value=0, max_value=1 << 40),
    st.integers(min_value=1, max_value=19),
)
def test_a_lock_is_read_as_it_was_written(packages, date, level):
    ordered = tuple(sorted(packages, key=lambda each: each.name))
    lock = Lock(kernel=ordered[0].name, date=date, compression_level=level, packages=ordered)
    assert parse_lock(write_lock(lock)) == lock


@given(st.text())
def test_any_text_is_a_lock_or_refused(text):
    with pytest.raises(InputError):
        parse_lock(text)


GOOD = f"version 1\ndate 5\ncompress 3\nkernel k\npackage k 1 {'a' * 64} 7\n"


@pytest.mark.parametrize(
    "text",
    [
        GOOD.replace("version 1", "version 2"),
        GOOD.replace("date 5", "date yesterday"),
        GOOD.replace("kernel k", "kernel other"),
        GOOD.replace("aaaa", "AAAA"),
        GOOD.replace(" 7\n", " -7\n"),
        GOOD.replace("package k 1", "package ../k 1"),
        GOOD + f"package k 2 {'b' * 64} 7\n",
        GOOD + "surprise 1\n",
    ],
)
def test_what_is_wrong_in_a_lock_is_refused(text):
    assert parse_lock(GOOD).kernel == "k"
    with pytest.raises(InputError) as refused:
        parse_lock(text)
    assert refused.value.code is ErrorCode.CONFIG_INVALID


def test_the_digest_is_of_the_content():
    lock = parse_lock(GOOD)
    assert lock.digest() == parse_lock("# a comment\n" + GOOD).digest()
    assert lock.digest() != replace(lock, date=6).digest()


def test_the_shipped_lock_pins_every_package_that_the_ramdisk_is_made_of():
    lock = shipped_lock()
    assert {*packages(), lock.kernel} == {each.name for each in lock.packages}
    assert lock.kernel.startswith("linux-image-")
    assert "cloud" not in lock.kernel


def test_the_programs_that_build_are_pinned_with_the_rest():
    names = {each.name for each in shipped_lock().packages}
    assert {"python3.11-minimal", "zstd", "xz-utils", "kmod", "libc6"} <= names


NAMED_BY_THE_DOCUMENTATION = {
    *("mlx5_core", "ice", "i40e", "ixgbe", "igb", "bnxt_en", "tg3", "e1000e", "nvme", "ahci"),
    *("mpt3sas", "megaraid_sas", "smartpqi", "ipmi_si", "virtio_pci", "virtio_net", "virtio_blk"),
    *("virtio_scsi", "ipmi_devintf", "sd_mod", "sr_mod", "sg", "efivarfs", "usb_storage"),
}


def test_the_named_drivers_are_in_the_list():
    assert set(drivers()) >= NAMED_BY_THE_DOCUMENTATION


def test_the_named_tools_are_in_the_ramdisk():
    paths = {path.rpartition("/")[2] for taken in contents().values() for path in taken}
    tools = {"nvme", "hdparm", "sg_sanitize", "smartctl", "lspci", "dmidecode", "blkdiscard"}
    assert tools <= paths


def test_what_a_rescue_needs_lengthens_no_other_boot():
    """It is packed apart: neither sshd nor file systems are among what each boot unpacks."""
    beyond = {path for taken in rescue_contents().values() for path in taken}
    assert {"usr/sbin/dropbear", "usr/sbin/e2fsck", "usr/sbin/lvm"} <= beyond
    assert not beyond & {path for taken in contents().values() for path in taken}
    assert {"ext4", "xfs", "btrfs", "vfat", "dm_mod", "raid1", "button"} <= set(rescue_drivers())
    assert not set(rescue_drivers()) & set(drivers())


@pytest.mark.parametrize(
    "line", ["busybox /etc/passwd", "busybox usr/../etc", "Busybox", "a\na usr/bin/a", "-o usr/x"]
)
def test_contents_stay_below_usr_and_name_packages(line):
    with pytest.raises(InputError):
        parse_contents(line)


@pytest.mark.parametrize("name", ["", "-o=x", "A", "a b", "a/b", "a" * 200, "a\n"])
def test_what_is_no_package_name_never_reaches_apt(name):
    with pytest.raises(InputError):
        parse_package_name(name)


def test_records_of_apt_are_read():
    text = (
        "Package: zstd\nVersion: 1.5.4+dfsg2-5\nDescription: x\n  long\nSize: 7\n"
        f"SHA256: {'a' * 64}\n\nPackage: virtual\nVersion: 1\n\n"
    )
    (found,) = parse_records(text)
    assert (found.name, found.version, found.size_bytes) == ("zstd", "1.5.4+dfsg2-5", 7)


def test_changes_are_told_by_package():
    old = parse_lock(GOOD)
    new = replace(old, packages=(replace(old.packages[0], version="2"),))
    assert changes(old, new) == ("k 1 -> 2",)
    assert changes(old, replace(old, packages=())) == ("k 1 -> (gone)",)
