"""What a wipe's document says."""

from dataclasses import replace

import pytest

from provisioner.evidence.chain import canonical
from provisioner.evidence.document import (
    Baseline,
    ControllerMedia,
    IdentityClass,
    Obtained,
    Reason,
    Span,
    Subject,
    Times,
    wipe_document,
)
from provisioner.hardware.inventory import Disk, System, Transport
from provisioner.servers.model import ExcludedDisk
from provisioner.units import WallSeconds
from provisioner.wipe.capabilities import Capabilities
from provisioner.wipe.choose import choose
from provisioner.wipe.judge import DiskWipe, WipePolicy, judge
from provisioner.wipe.method import Leaves, WipeClass
from tests.unit.wipe.test_judge import DISK, PLAIN, good

MEDIUM = Disk(
    name="nvme0n1",
    path="/dev/nvme0n1",
    serial="S1",
    wwn=None,
    model="Disk",
    firmware="1.0",
    bytes=1 << 30,
    logical_sector_bytes=512,
    physical_sector_bytes=512,
    rotational=False,
    removable=False,
    read_only=False,
    transport=Transport.NVME,
    has_partition_table=True,
)
SUBJECT = Subject(
    site="lab",
    server="bios1",
    pool="a",
    system=System(uuid="u-1", serial="SN", manufacturer="M", product="P"),
    controller_uuid="u-1",
)
OBTAINED = Obtained(
    identity_class=IdentityClass.NONCE,
    identity_way="ipmi-sel",
    boot_path="network boot, BIOS",
    boot_override="read back",
    kernel_sha256="a" * 64,
    ramdisk_sha256="b" * 64,
    site_initrd_sha256="c" * 64,
    agent_version="1",
)
REASON = Reason(who="lab: delete", why="instance deleted", operation="o-1", instance="i-1")


def span(begun, ended):
    return Span(begun=WallSeconds(begun), ended=WallSeconds(ended))


TIMES = Times(off=span(0, 31.2), marked=span(40, 41), erased=span(41, 50), verified=span(50, 52))
NO_LIST = ControllerMedia(named=None)
BASELINE = Baseline(taken=WallSeconds(0), compared=("system uuid", "disks"))


def document(*pairs, obtained=OBTAINED, baseline=BASELINE, media=NO_LIST):
    return wipe_document(
        subject=SUBJECT,
        obtained=obtained,
        reason=REASON,
        times=TIMES,
        baseline=baseline,
        controller_media=media,
        disks=pairs,
    )


def proven(wipe=None):
    return MEDIUM, judge(wipe or good(), WipePolicy())


def test_it_says_whose_how_why_and_when():
    made = document(proven())
    assert made["site"] == "lab"
    assert made["server"]["uuid"] == made["server"]["controller_uuid"] == "u-1"
    assert made["identity"] == {"class": "nonce", "way": "ipmi-sel"}
    assert made["obtained"]["ramdisk_sha256"] == "b" * 64
    assert made["obtained"]["site_initrd_sha256"] == "c" * 64
    assert made["obtained"]["results"] == "as the agent reported them"
    assert made["reason"]["who"] == "lab: delete"
    assert made["times"]["off"] == {
        "begun": "1970-01-01T00:00:00Z",
        "ended": "1970-01-01T00:00:31Z",
        "seconds": 31,
    }
    assert made["baseline"]["equal"] == ["system uuid", "disks"]


def test_it_says_of_each_disk_what_was_done_and_what_was_read():
    (disk,) = document(proven())["disks"]
    assert (disk["serial"], disk["firmware"], disk["class"]) == ("S1", "1.0", "purge")
    assert disk["capabilities"]["nvme"]["sanicap"] == 0b010
    assert disk["methods"][0]["method"] == "nvme-sanitize-block"
    assert disk["methods"][0]["disks_own_log"] == "completed"
    assert disk["methods"][0]["canaries"] == {
        "written": 64,
        "read_back_before": 64,
        "left_after": 0,
    }
    read = disk["verification"]
    assert (read["samples"], read["unwiped_share"]) == (13_809, "0.001")
    assert read["missed_with_probability_at_most"] == "1e-06"
    assert read["marks"] == {"searched_blocks": 1, "remembered": 1, "left": 0}
    assert disk["log"]["before"]["media_errors"] == 3


def test_the_weakest_disk_gives_the_class():
    made = document(proven(), proven(good(PLAIN)))
    assert made["class"] == "clear"
    assert document()["class"] == "none"


def test_it_can_be_chained():
    assert canonical(document(proven()))


def test_what_was_not_proven_gives_no_document():
    wipe = good()
    broken = replace(wipe, verified=replace(wipe.verified, marks_left=1))
    with pytest.raises(ValueError, match="not proven: S1: 1 blocks"):
        document(proven(broken))


def test_it_names_what_it_leaves_out():
    plain = document(proven(good(PLAIN)))["not_covered"]
    assert any("firmware" in text for text in plain)
    assert any("agent's truthfulness" in text for text in plain)
    assert any(text.startswith("disk S1: sectors taken out of use") for text in plain)
    assert not any("uuid alone" in text for text in plain)
    purged = document(proven())["not_covered"]
    assert not any("sectors taken out of use" in text for text in purged)


def test_an_identity_by_uuid_alone_is_said():
    weak = replace(OBTAINED, identity_class=IdentityClass.UUID, identity_way="system uuid")
    made = document(proven(), obtained=weak)
    assert any("system uuid alone" in text for text in made["not_covered"])


def test_excluded_and_unerasable_media_are_named():
    baseline = replace(BASELINE, excluded=(ExcludedDisk(wwn="w-9", name="san"),))
    choice = choose(Capabilities(read_only=True), at_least=1, wipe_class=WipeClass.CLEAR)
    listed = judge(
        DiskWipe(disk=DISK, survey=None, choice=choice), WipePolicy(allow_unerasable=True)
    )
    made = document(proven(), (MEDIUM, listed), baseline=baseline)
    assert "disk san (w-9): excluded by an operator" in made["not_covered"]
    assert any(text.startswith("disk S1: not erased:") for text in made["not_covered"])
    assert made["class"] == "purge"
    assert made["disks"][1]["erased"] is False


def test_what_only_the_controller_names_is_said_and_so_is_a_controller_that_names_nothing():
    assert any("keeps no list of drives" in text for text in document(proven())["not_covered"])
    media = ControllerMedia(named=3, hidden=("Disk.Bay.1 S9",))
    made = document(proven(), media=media)
    assert made["controller_media"] == {"named": 3, "hidden": ["Disk.Bay.1 S9"]}
    (said,) = (text for text in made["not_covered"] if "S9" in text)
    assert said.endswith("not erased")
    assert not any("keeps no list" in text for text in made["not_covered"])


def test_noise_that_may_be_data_is_said():
    _, verdict = proven()
    made = document((MEDIUM, replace(verdict, leaves=Leaves.NOISE)))
    assert any("compressed or encrypted" in text for text in made["not_covered"])
