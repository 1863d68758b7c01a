"""Each finding on a host that has it, and its absence on one that nearly has it."""

import re

import pytest

from provisioner.hosts.finding_catalogue import CATALOGUE, Code, Weight
from provisioner.hosts.findings import findings_of
from provisioner.hosts.kernel_log import RULES
from provisioner.hosts.rules_log import MEANINGS
from tests.unit.hosts.built import CONSOLE, GPU, NIC, good_host
from tests.unit.hosts.changes import ON_DISK, XID
from tests.unit.hosts.gpus_with_findings import GPUS
from tests.unit.hosts.hosts_with_findings import HOSTS

HAS = {**HOSTS, **GPUS}
ALSO = {
    # what the change that makes one brings with it
    Code.NVSWITCH_SPLIT: {"NVSWITCH_THERE"},
}


def test_a_good_host_has_no_findings():
    host = good_host()
    assert host.facts().problems == ()
    assert host.codes() == []


@pytest.mark.parametrize("code", HAS)
def test_a_host_that_has_it(code):
    make, _, subjects = HAS[code]
    host = good_host()
    make(host)
    found = host.codes()
    assert tuple(subject for each, subject in found if each == code) == subjects
    assert {each for each, _ in found} - {code} <= ALSO.get(code, set())


@pytest.mark.parametrize("code", [code for code, row in HAS.items() if row[1] is not None])
def test_a_host_that_nearly_has_it(code):
    host = good_host()
    HAS[code][1](host)
    assert code not in {each for each, _ in host.codes()}


def test_every_code_has_a_host_that_has_it():
    assert set(HAS) == set(Code) == set(CATALOGUE)


def test_every_rule_of_the_log_means_something():
    assert set(MEANINGS) == set(RULES)


@pytest.mark.parametrize(
    ("text", "code", "subject"),
    [
        ("[0.0] AMD-Vi: Unknown option - 'on'", Code.AMD_IOMMU_ON_IGNORED, "host"),
        ("[0.0] Warning: PCIe ACS overrides enabled; This may allow", Code.ACS_OVERRIDE, "host"),
        (
            "vfio-pci 0000:04:00.1: DMAR: Device is ineligible for IOMMU domain attach due to",
            Code.RMRR_DEVICE,
            "0000:04:00.1",
        ),
        ("[0.3] DMAR-IR: IRQ remapping was disabled", Code.UNSAFE_INTERRUPTS, "host"),
        (
            "vfio-pci 0000:c3:00.0: BAR 0: can't reserve [mem 0x1-0x2 64bit pref]",
            Code.FRAMEBUFFER_ON_GPU,
            "0000:c3:00.0",
        ),
        (ON_DISK.format("pci 0000:c5:00.0"), Code.BAR_UNASSIGNED, "0000:c5:00.0"),
        (
            "[4.1] pci 0000:c5:00.0: VF BAR 5 [mem size 0x00080000]: failed to assign",
            Code.BAR_UNASSIGNED,
            "0000:c5:00.0",
        ),
        ("[9.0] NVRM: Xid (PCI:0001:C5:00): 119, pid=2, Timeout", Code.XID_LOGGED, "0001:c5:00.0"),
    ],
)
def test_lines_of_the_log(text, code, subject):
    host = good_host()
    host.log(text)
    assert (code, subject) in host.codes()


def test_a_line_that_comes_again_and_again_is_one_finding():
    host = good_host()
    for number in range(1000):
        host.log(XID.replace("9.0", f"{number}.0"))
    assert [each for each, _ in host.codes()] == [Code.XID_LOGGED]


def test_what_blocks_comes_first_and_each_says_which_text_said_what():
    host = good_host()
    host.line("pcie_acs_override=downstream")
    host.set(GPU, numa_node="-1")
    host.log(XID)
    found = findings_of(host.facts())
    assert [each.weight for each in found] == [Weight.BLOCKS, Weight.WARNS, Weight.NOTES]
    assert all(each.evidence and each.meaning and each.remedy for each in found)
    first = found[0].evidence[0]
    assert (first.text, first.says) == ("/proc/cmdline", "pcie_acs_override=downstream")


def test_texts_in_the_catalogue_are_sentences():
    for code, entry in CATALOGUE.items():
        for text in (entry.meaning, entry.remedy):
            assert re.fullmatch(r"\S.*\.", text), (code, text)
            assert "|" not in text


@pytest.mark.parametrize("address", [CONSOLE, NIC])
def test_the_console_or_a_network_card_in_the_group_is_named(address):
    host = good_host()
    host.group(address, 11)
    found = [each for each in findings_of(host.facts()) if each.code is Code.GROUP_WITH_CRITICAL]
    assert [each.evidence[0].says.startswith(address) for each in found] == [True]
