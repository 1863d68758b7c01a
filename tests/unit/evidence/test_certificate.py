"""A tenant's statement of the wipe before its time: what it says, and whom it never names."""

import hashlib
import json
import re
from dataclasses import replace

import pytest

from provisioner.evidence.certificate import certificate
from provisioner.evidence.chain import link, verify_chain, verify_record
from provisioner.servers.model import ExcludedDisk
from provisioner.testing.store import DigestSigner
from provisioner.units import WallSeconds
from provisioner.wipe.capabilities import Capabilities
from provisioner.wipe.choose import choose
from provisioner.wipe.judge import DiskWipe, WipePolicy, judge
from provisioner.wipe.method import WipeClass
from tests.unit.evidence import test_document as wiped
from tests.unit.wipe.test_judge import DISK, PLAIN, good

SIGNER = DigestSigner()
KEYS = {SIGNER.key_id(): SIGNER.public}
INSTANCE = "lab/11111111-1111-1111-1111-111111111111"


def everything_named():
    """A wipe whose document names all that a document may name."""
    choice = choose(Capabilities(read_only=True), at_least=1, wipe_class=WipeClass.CLEAR)
    listed = judge(
        DiskWipe(disk=DISK, survey=None, choice=choice), WipePolicy(allow_unerasable=True)
    )
    by_wwn = replace(wiped.MEDIUM, serial=None, wwn="eui.5002538f")
    _, plain = wiped.proven(good(PLAIN))
    return wiped.document(
        wiped.proven(),
        (by_wwn, plain),
        (wiped.MEDIUM, listed),
        obtained=replace(wiped.OBTAINED, boot_path="network boot over 52:54:00:aa:bb:cc"),
        baseline=replace(wiped.BASELINE, excluded=(ExcludedDisk(wwn="w-9", name="san"),)),
        media=wiped.ControllerMedia(named=3, hidden=("Disk.Bay.1 S9",)),
    )


def told(document):
    record = link(document, None, 1, SIGNER)
    return record, certificate(record, instance=INSTANCE, since=WallSeconds(86_400), signer=SIGNER)


def test_it_verifies_like_a_record_and_is_the_same_each_time():
    record, statement = told(wiped.document(wiped.proven()))
    assert verify_record(statement, KEYS, SIGNER.verify) == []
    assert statement["previous"] == record["hash"]
    assert told(wiped.document(wiped.proven()))[1] == statement
    assert json.loads(json.dumps(statement)) == statement


@pytest.mark.parametrize("key", ["instance", "since", "class"])
def test_a_changed_one_does_not_verify(key):
    _, statement = told(wiped.document(wiped.proven()))
    changed = statement | {"document": statement["document"] | {key: "other"}}
    assert verify_record(changed, KEYS, SIGNER.verify)


def test_it_never_passes_for_a_record_of_the_chain():
    """Records are numbered from 1, and this one would follow the wipe's."""
    record, statement = told(wiped.document(wiped.proven()))
    assert statement["sequence"] == 0
    for chain in ([statement], [record, statement]):
        assert verify_chain(chain, KEYS, SIGNER.verify).problems


def test_it_says_for_whom_what_was_reached_and_how_it_is_known():
    document = told(wiped.document(wiped.proven()))[1]["document"]
    assert (document["kind"], document["instance"]) == ("wipe-certificate", INSTANCE)
    assert (document["since"], document["class"]) == ("1970-01-02T00:00:00Z", "purge")
    assert document["times"]["verified"]["ended"] == "1970-01-01T00:00:52Z"
    assert document["obtained"]["ramdisk_sha256"] == "b" * 64
    (disk,) = document["disks"]
    assert disk["serial_sha256"] == hashlib.sha256(b"S1").hexdigest()
    assert disk["methods"] == ["nvme-sanitize-block: done"]
    assert disk["verification"]["samples"] == 13_809


@pytest.mark.parametrize(
    "name",
    [
        *("bios1", "u-1", "SN", "S1", "S9", "eui.5002538f", "w-9", "san"),
        *("lab: delete", "i-1", "o-1", "instance deleted", "52:54:00:aa:bb:cc"),
    ],
)
def test_it_names_neither_who_was_there_before_nor_any_part(name):
    """As a word: a short name may be a part of a digest."""
    wipe, word = everything_named(), re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])")
    assert word.search(json.dumps(wipe))
    assert not word.search(json.dumps(told(wipe)[1]))


def test_what_is_left_out_is_said_with_numbers_in_place_of_names():
    lines = told(everything_named())[1]["document"]["not_covered"]
    assert [line for line in lines if line.startswith("disk 2: sectors taken out of use")]
    assert [line for line in lines if ": not erased:" in line and line.startswith("disk ")]
    assert lines[-1] == "2 media that the operator's record names: excluded, or not erased"
    assert any("agent's truthfulness" in line for line in lines)
