"""What the tools print, as values; recordings and compositions are in tests/data/disks."""

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provisioner.wipe.capabilities import Capabilities, SanitizeState, ScsiCapabilities
from provisioner.wipe.device_log import DeviceLog, parse_smartctl
from provisioner.wipe.parse_ata import (
    parse_ata,
    parse_hidden_sectors,
    parse_identify,
    parse_sanitize_status,
)
from provisioner.wipe.parse_nvme import parse_nvme, parse_sanitize_log
from provisioner.wipe.parse_scsi import parse_scsi, parse_sense

DATA = Path(__file__).parents[2] / "data" / "disks"


def said(name):
    return (DATA / name).read_text()


def test_a_virtual_nvme_disk_formats_but_has_no_sanitize_and_no_crypto_format():
    found = parse_nvme(
        said("nvme-id-ctrl.qemu-7.2.22-nvme.json"), said("nvme-id-ns.qemu-7.2.22-nvme.json"), b""
    )
    assert found.has_format()
    assert not found.has_crypto_format()
    assert found.sanicap == 0
    assert found.reads_zero_after_discard()
    assert found.unallocated_bytes == 0
    assert found.sanitize_state is SanitizeState.UNKNOWN


@pytest.mark.parametrize("text", ["", "no json", "[]", "{}", '{"oacs": "x"}', "null"])
def test_what_is_no_identify_data_gives_no_nvme_capabilities(text):
    assert parse_nvme(text, text, b"") is None


@pytest.mark.parametrize(
    ("status", "progress", "state", "share"),
    [
        (0, 0xFFFF, SanitizeState.NEVER, 1.0),
        (0x101, 0xFFFF, SanitizeState.COMPLETED, 1.0),
        (0x102, 0x8000, SanitizeState.RUNNING, 0.5),
        (3, 0xFFFF, SanitizeState.FAILED, 1.0),
        (0x104, 0xFFFF, SanitizeState.COMPLETED, 1.0),
        (7, 0xFFFF, SanitizeState.UNKNOWN, 1.0),
    ],
)
def test_the_sanitize_log_is_read_by_its_fields(status, progress, state, share):
    log = parse_sanitize_log(struct.pack("<HHI", progress, status, 2) + bytes(504))
    assert (log.state, log.share, log.action) == (state, share, 2)


def test_a_virtual_sata_disk_has_no_security_feature():
    found = parse_ata(
        said("hdparm-I.qemu-7.2.22-ide-hd.txt"),
        said("hdparm-N.qemu-7.2.22-ide-hd.txt"),
        said("hdparm-sanitize-status.qemu-7.2.22-ide-hd.txt"),
    )
    assert not found.security
    assert not found.sanitize
    assert not found.trim_zeroes
    assert found.hidden_sectors == 0


def test_a_scsi_disk_is_not_taken_for_an_ata_one_although_hdparm_says_nothing_wrong():
    assert parse_identify(said("hdparm-I.qemu-7.2.22-scsi-hd.txt")) is None


def test_security_sanitize_and_trim_words_are_read():
    found = parse_identify(said("hdparm-I.composed-ssd-frozen.txt"))
    assert (found.security, found.enabled, found.locked, found.frozen) == (True, False, False, True)
    assert found.enhanced
    assert (found.erase_minutes, found.enhanced_minutes) == (2, 4)
    assert (found.sanitize_crypto, found.sanitize_block) == (True, True)
    assert not found.sanitize_overwrite
    assert found.trim_zeroes
    assert not parse_identify(said("hdparm-I.composed-ssd.txt")).frozen


def test_a_locked_disk_without_enhanced_erase_is_read_so():
    found = parse_identify(said("hdparm-I.composed-hdd-locked.txt"))
    assert (found.enabled, found.locked, found.enhanced) == (True, True, False)
    assert (found.erase_minutes, found.enhanced_minutes) == (508, None)


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        (" max sectors   = 131072/131072, HPA is disabled", 0),
        (" max sectors   = 1000/131072, HPA is enabled", 130072),
        ("", 0),
    ],
)
def test_sectors_behind_a_protected_area_are_counted(text, hidden):
    assert parse_hidden_sectors(text) == hidden


@pytest.mark.parametrize(
    ("name", "state", "share"),
    [
        ("composed-running", SanitizeState.RUNNING, 0.25),
        ("composed-completed", SanitizeState.COMPLETED, 1.0),
        ("composed-frozen", SanitizeState.FROZEN, 1.0),
        ("composed-failed", SanitizeState.FAILED, 1.0),
        ("qemu-7.2.22-ide-hd", SanitizeState.UNKNOWN, 1.0),
    ],
)
def test_the_ata_sanitize_status_is_read(name, state, share):
    assert parse_sanitize_status(said(f"hdparm-sanitize-status.{name}.txt")) == (state, share)


def test_scsi_disks_say_by_their_operation_codes_what_they_can():
    plain = parse_scsi(
        said("sg_opcodes.linux-6.1-scsi_debug.txt"),
        said("sg_readcap.linux-6.1-scsi_debug.txt"),
        said("sg_requests.linux-6.1-scsi_debug.txt"),
    )
    assert plain == ScsiCapabilities(unmap_zeroes=True)
    silent = parse_scsi(
        said("sg_opcodes.qemu-7.2.22-scsi-hd.txt"), said("sg_readcap.qemu-7.2.22-scsi-hd.txt"), ""
    )
    assert silent == ScsiCapabilities()
    able = parse_scsi(said("sg_opcodes.composed-sas-ssd.txt"), "", "")
    assert able == ScsiCapabilities(sanitize_crypto=True, sanitize_block=True)


@pytest.mark.parametrize(
    ("name", "state", "share"),
    [
        ("composed-sanitizing", SanitizeState.RUNNING, 0.375),
        ("composed-sanitize-failed", SanitizeState.FAILED, 1.0),
        ("linux-6.1-scsi_debug", SanitizeState.COMPLETED, 1.0),
    ],
)
def test_the_sense_of_a_scsi_disk_tells_how_its_sanitize_stands(name, state, share):
    assert parse_sense(said(f"sg_requests.{name}.txt")) == (state, share)


@pytest.mark.parametrize(
    ("name", "log"),
    [
        ("qemu-7.2.22-nvme", DeviceLog(source="nvme", passed=True, media_errors=0)),
        ("qemu-7.2.22-ide-hd", DeviceLog(source="ata", passed=True, moved_sectors=0)),
        ("qemu-7.2.22-scsi-hd", DeviceLog(source="scsi")),
        ("linux-6.1-scsi_debug", DeviceLog(source="scsi", passed=True)),
        ("qemu-7.2.22-virtio-blk", DeviceLog()),
    ],
)
def test_the_disks_own_log_is_read_as_far_as_there_is_one(name, log):
    assert parse_smartctl(said(f"smartctl.{name}.json")) == log


NAMES = st.sampled_from(["nvme", "ata", "scsi", "read_only", "oacs", "discard_max_bytes", "x"])


@given(st.text())
def test_no_text_breaks_a_parser(text):
    parse_nvme(text, text, text.encode())
    parse_ata(text, text, text)
    parse_scsi(text, text, text)
    parse_smartctl(text)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=4),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
        max_leaves=6,
    )
)
def test_no_tree_breaks_the_reading_of_capabilities(tree):
    try:
        Capabilities.from_json(tree)
    except ValueError as error:
        assert str(error).startswith("capabilities")  # noqa: PT017 any tree may also be good


def test_capabilities_travel_unchanged():
    found = Capabilities(
        rotational=True,
        discard_max_bytes=512,
        nvme=parse_nvme(
            said("nvme-id-ctrl.qemu-7.2.22-nvme.json"),
            said("nvme-id-ns.qemu-7.2.22-nvme.json"),
            b"",
        ),
        ata=parse_identify(said("hdparm-I.composed-ssd.txt")),
        scsi=ScsiCapabilities(sanitize_block=True),
    )
    assert Capabilities.from_json(found.to_json()) == found
