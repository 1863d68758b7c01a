"""Faults that take more than their share of the time of ./dev test."""

import json
import time
from dataclasses import replace

import pytest

from cloudstack_ext.contract import Verb
from provisioner.lab.canaries import canaries
from provisioner.lab.layout import BIOS1, NbdSocket
from provisioner.lab.network import links
from tests.rack.controls import Controls
from tests.rack.main_job import outside
from tests.rack.main_job.layout import MIB, small
from tests.rack.main_job.outside import deployment, ends_in_quarantine
from tests.rack.main_job.service import until

pytestmark = pytest.mark.rack_long
NVME, SATA = small(BIOS1).disks


# --- the provisioning network -----------------------------------------------------------------
def test_a_stranger_who_is_quicker_than_the_server_has_a_token_that_opens_nothing(story):
    before = len(outside.power_log(story, "bios1"))
    with deployment(story, "bios1") as running:
        until(lambda: outside.switched_on(story, "bios1", before), "bios1 is on", within_s=200)
        scripts = []

        def has_a_script():
            scripts.append(outside.boot_script(story, "bios1")[1])
            return "rackwright.token" in scripts[-1]

        until(has_a_script, "the stranger has the script", within_s=10, every_s=0)

        assert "BOOT_TOKEN_TAKEN" in running.called().failure
    ends_in_quarantine(story, "BOOT_TOKEN_TAKEN")
    assert outside.hello(story, scripts[-1]) == 403


def test_a_server_that_never_calls_in_is_switched_off_and_quarantined(story):
    story.rest("bios1")
    with outside.times(story, agent_call_in_s=45):
        story.rack.record.stop("dnsmasq")
        try:
            with deployment(story, "bios1") as running:
                assert "AGENT_SILENT" in running.called().failure
            ends_in_quarantine(story, "AGENT_SILENT")
        finally:
            story.rack.up()


def test_an_image_goes_on_where_it_was_after_packets_were_lost_for_a_while(story):
    with deployment(story, "bios1") as running:
        running.wait_for("write-image")
        until(lambda: running.opened()["note"] == "write", "it writes", within_s=60)
        with outside.no_packets(story, "bios1"):
            time.sleep(20)  # longer than any answer may take

        assert running.called().failure == ""
        assert running.ended()["status"] == "done"


# --- the machine ------------------------------------------------------------------------------
def test_a_machine_that_starts_anew_in_the_middle_of_the_image_gives_itself_away(story):
    with deployment(story, "bios1") as running:
        running.wait_for("write-image")
        outside.told_to_qemu(story, "bios1", "system_reset")

        assert "BOOT_TOKEN_TAKEN" in running.called().failure, "asked for a second script"
    ends_in_quarantine(story, "BOOT_TOKEN_TAKEN")


def test_an_agent_that_dies_in_the_middle_of_the_image_is_missed(story):
    with deployment(story, "bios1") as running:
        running.wait_for("write-image")
        outside.told_to_qemu(story, "bios1", "stop")

        assert "AGENT_LOST" in running.called().failure
    ends_in_quarantine(story, "AGENT_LOST")


def test_a_machine_that_stands_still_in_the_wipe_is_quarantined_and_stays_dirty(story):
    with deployment(story, "bios1") as running:
        assert running.called().failure == ""
    story.service.wait_for_stage("bios1", "release", "mark")
    outside.told_to_qemu(story, "bios1", "stop")

    released = story.service.wait_for_end("bios1", "release")

    assert released["code"] == "AGENT_LOST"
    assert ends_in_quarantine(story, "AGENT_LOST")["dirty"]


@pytest.mark.parametrize("case", ["swapped", "missing", "added"])
def test_a_disk_that_was_changed_between_two_tenants_is_noticed_before_anything_is_written(
    story, case
):
    story.rest("bios1")
    disks = {
        "swapped": (NVME, replace(SATA, serial="ANOTHER")),
        "missing": (NVME,),
        "added": (
            NVME,
            SATA,
            replace(SATA, serial="MORE", source=replace(SATA.source, file="more.raw")),
        ),
    }[case]
    with outside.other_disks(story, "bios1", disks), deployment(story, "bios1") as running:
        assert "FACTS_DIFFER" in running.called().failure
        assert "disk" in running.ended()["brief"]
        ends_in_quarantine(story, "FACTS_DIFFER")
    assert not story.disk("NVME-bios1").read_bytes().strip(b"\0")


def test_disks_that_lie_about_their_wipe_are_found_out(story):
    """The NVMe one keeps everything at its format, the SATA one is deaf to writes in a range."""
    story.rest("bios1")
    with outside.behind_plugin(story, NVME) as nvme, outside.behind_plugin(story, SATA) as sata:
        disks = [
            replace(
                disk,
                source=NbdSocket(
                    socket=each.socket, file=disk.source.file, size_bytes=disk.source.size_bytes
                ),
            )
            for disk, each in ((NVME, nvme), (SATA, sata))
        ]
        with outside.other_disks(story, "bios1", disks):
            with deployment(story, "bios1") as running:
                assert running.called().failure == ""
                running.guest.tenant.connect()
                running.guest.is_up()
                marks = canaries(b"lying", 400)
                running.guest.write_marks(marks)
                everywhere, middle = [[0, 192 * MIB]], [[40 * MIB, 48 * MIB]]
                nvme.lie(deaf_to_zero=everywhere)
                sata.lie(deaf_to_write=middle, deaf_to_zero=middle)
            released = story.service.wait_for_end("bios1", "release")

            assert released["code"] == "WIPE_NOT_PROVEN"
            for serial in ("NVME-bios1", "SATA-bios1"):
                assert serial in released["detail"]
            assert ends_in_quarantine(story, "WIPE_NOT_PROVEN")["dirty"]
            assert running.guest.found(), "what they kept is on their files"


# --- the controller ---------------------------------------------------------------------------
def test_a_release_does_not_pass_a_controller_that_does_not_answer(story):
    with deployment(story, "bios1") as running:
        assert running.called().failure == ""
        with outside.frozen(story, "ipmi_sim-bios1"):
            said = running.guest.call(Verb.DELETE)
            assert "shut" in json.loads(said.output)["message"]
            assert not links(story.rack.layout.rack)["tap-bios1"].is_up
            released = story.service.wait_for_end("bios1", "release")
            assert "possibly still running" in released["brief"]
            story.service.wait_for_state("bios1", "QUARANTINED")
            until(lambda: not story.service.open_operations("bios1"), "it ends", within_s=400)
            assert not links(story.rack.layout.rack)["tap-bios1"].is_up
        controls = Controls(story.rack, story.server("bios1"))
        assert controls.power() == "on", "it was running all the time"
        # the breaker leaves a controller that failed five times alone for over two minutes
        until(lambda: controls.power() == "off", "a stray is switched off", within_s=300)


def test_another_machine_behind_the_address_is_not_touched(story):
    story.rest("bios1")
    before = outside.power_log(story, "bios1")
    with outside.other_guid(story, "bios1"), deployment(story, "bios1") as running:
        assert "OTHER_MACHINE" in running.called().failure
        story.service.wait_for_state("bios1", "QUARANTINED")
        until(lambda: not story.service.open_operations("bios1"), "it ends", within_s=300)
        assert outside.power_log(story, "bios1") == before
        assert not links(story.rack.layout.rack)["tap-bios1"].is_up
