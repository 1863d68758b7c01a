import pytest

from provisioner.errors import ErrorCode, OperatorError
from provisioner.ramdisk.modules import name_of, parse_index

NEEDS = """\
kernel/drivers/nvme/host/nvme.ko: kernel/drivers/nvme/host/nvme-core.ko kernel/lib/crc.ko
kernel/drivers/nvme/host/nvme-core.ko: kernel/lib/crc.ko
kernel/lib/crc.ko:
kernel/crypto/crct10dif-pclmul.ko:
kernel/drivers/scsi/sd_mod.ko:
"""
SOFT = """\
# Soft dependencies extracted from modules themselves.
softdep crc pre: crct10dif-pclmul crct10dif-vendor
"""
INDEX = parse_index(NEEDS, SOFT, "kernel/fs/efivarfs/efivarfs.ko\n")


def test_a_driver_brings_what_it_needs_and_asks_for():
    assert INDEX.closure(["nvme"]) == (
        "kernel/crypto/crct10dif-pclmul.ko",
        "kernel/drivers/nvme/host/nvme-core.ko",
        "kernel/drivers/nvme/host/nvme.ko",
        "kernel/lib/crc.ko",
    )


def test_a_driver_that_is_built_in_needs_no_file():
    assert INDEX.closure(["efivarfs"]) == ()


def test_every_driver_that_is_missing_is_named():
    with pytest.raises(OperatorError, match=r"ionic, other") as failed:
        INDEX.closure(["ionic", "nvme", "other"])
    assert failed.value.code is ErrorCode.RAMDISK_BUILD


@pytest.mark.parametrize("text", ["a/nvme-core.ko", "nvme_core", "nvme-core", "nvme_core.ko.xz"])
def test_a_module_has_one_name(text):
    assert name_of(text) == "nvme_core"
