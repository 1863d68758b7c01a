import json

import pytest

from provisioner.errors import ErrorCode, OperatorError
from provisioner.ramdisk.lock import LockedPackage
from provisioner.ramdisk.record import (
    INITRD_FILE,
    KERNEL_FILE,
    RECORD_FILE,
    RamdiskRecord,
    digest_of,
    read_record,
)
from provisioner.ramdisk.stage import merged_path
from provisioner.ramdisk.store import digest_of_file, fill, path_in_store

RECORD = RamdiskRecord(
    digest=digest_of("a" * 64, "b" * 64),
    lock_digest="c" * 64,
    kernel_version="6.1.0-57-amd64",
    kernel_sha256="a" * 64,
    kernel_bytes=8,
    initrd_sha256="b" * 64,
    initrd_bytes=20,
    unpacked_bytes=80,
    modules=157,
    added=("driver ionic",),
)


def test_a_record_is_read_as_it_was_written(tmp_path):
    (tmp_path / RECORD_FILE).write_text(RECORD.to_text())
    for name in (KERNEL_FILE, INITRD_FILE):
        (tmp_path / name).touch()
    assert read_record(tmp_path) == RECORD
    assert RECORD.total_bytes() == 28


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "[]",
        RECORD.to_text(),  # and no kernel beside it
        "{}",
        json.dumps({**json.loads(RECORD.to_text()), "version": 2}),
        json.dumps({**json.loads(RECORD.to_text()), "surprise": 1}),
    ],
)
def test_without_a_record_there_is_no_ramdisk(tmp_path, text):
    if text is not None:
        (tmp_path / RECORD_FILE).write_text(text)
    with pytest.raises(OperatorError) as failed:
        read_record(tmp_path)
    assert failed.value.code is ErrorCode.RAMDISK_MISSING


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("./bin/kmod", "usr/bin/kmod"),
        ("./lib/modules/6.1/x.ko", "usr/lib/modules/6.1/x.ko"),
        ("./lib64/ld.so", "usr/lib64/ld.so"),
        ("./usr/bin/nvme", "usr/bin/nvme"),
        ("/etc/x", "etc/x"),
        ("./", ""),
    ],
)
def test_packages_are_merged_into_usr(name, path):
    assert merged_path(name) == path


@pytest.mark.parametrize("name", ["../etc/passwd", "./usr/../../x"])
def test_a_package_writes_nothing_outside(name):
    with pytest.raises(OperatorError):
        merged_path(name)


def test_a_filled_store_asks_nobody(tmp_path):
    content = b"a package"
    (tmp_path / "file").write_bytes(content)
    package = LockedPackage(
        name="p", version="1", sha256=digest_of_file(tmp_path / "file"), size_bytes=len(content)
    )
    place = path_in_store(tmp_path, package)
    place.parent.mkdir()
    place.write_bytes(content)
    fill(tmp_path, [package])
    assert place.read_bytes() == content
