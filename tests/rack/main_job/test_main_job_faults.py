"""Faults that fit beside the main job: kills, images, a stranger (which ends in quarantine)."""

import pytest

from cloudstack_ext.contract import Verb
from cloudstack_ext.lab.guest import READY, Guest
from cloudstack_ext.lab.site import IMAGES
from tests.rack.controls import Controls
from tests.rack.main_job import outside
from tests.rack.main_job.layout import MIB
from tests.rack.main_job.outside import boot_script, deployment, ends_in_quarantine
from tests.rack.main_job.service import until

pytestmark = pytest.mark.rack


def kill_and_start(story):
    story.service.kill()
    story.service.start()


def test_an_image_larger_than_the_disk_is_refused_before_power_is_touched(story, tmp_path):
    names = ("bios1", "uefi1")
    for name in names:
        story.rest(name)
    large = tmp_path / "large.raw"
    tiny = story.rack.paths.blobs / "images" / "tiny" / "image.raw"
    with large.open("wb") as image:
        image.write(tiny.read_bytes())
        image.truncate(300 << 20)
    story.site.command("image", "import", str(large), "--name", "large")
    story.site.pool(IMAGES | {"wide": "wide", "large": "large"})
    before = [outside.power_log(story, name) for name in names]

    guest = Guest.of(story.site, tmp_path, "omega", image="large", user_data=outside.USER_DATA)
    called = guest.ask(Verb.CREATE)

    assert "DISK_TOO_SMALL" in called.failure
    assert all(name in called.failure for name in names)
    assert [outside.power_log(story, name) for name in names] == before
    assert {story.service.state(name) for name in names} == {"AVAILABLE"}


class Moments:
    """When to kill, by what a server's power log and console show."""

    def __init__(self, story, name):
        self._story, self._name = story, name
        self._console = story.console(name)
        self._place, self._mark = self._console.mark(), len(outside.power_log(story, name))

    def switched_on(self):
        """How often, since the beginning."""
        lines = outside.power_log(self._story, self._name)[self._mark :]
        return [line.get("event") for line in lines].count("on")

    def on(self, times):
        until(lambda: self.switched_on() >= times, f"{self._name} goes on", within_s=300)

    def shows(self, text):
        self._console.wait_for(text, since=self._place, within_s=300)

    def stage(self, kind, name):
        self._story.service.wait_for_stage(self._name, kind, name)


def test_a_deployment_and_its_release_end_well_although_the_service_is_killed_twelve_times(story):
    with deployment(story, "bios1") as running:
        moments = Moments(story, "bios1")
        deployed = deployed_through_kills(story, running, moments)
    kill_and_start(story)  # right after the answer to delete
    for stage in ("rest", "on-to-network", "mark", "erase", "verify"):
        moments.stage("release", stage)
        kill_and_start(story)
    released = story.service.wait_for_end("bios1", "release")

    assert released["status"] == "done", released
    assert story.service.state("bios1") == "AVAILABLE"
    assert Controls(story.rack, story.server("bios1")).power() == "off"
    for operation in (deployed, released):
        assert max(stage["beginnings"] for stage in operation["stages"]) <= 3
    assert moments.switched_on() == 3, "network, disk, network: no start was asked for twice"


def deployed_through_kills(story, running, moments):
    """Six times: at power-on, in the loader, and in four stages; CloudStack hears a success."""
    for moment in (
        lambda: moments.on(1),
        lambda: moments.shows("iPXE"),
        lambda: moments.stage("deploy", "write-image"),
        lambda: moments.stage("deploy", "write-seed"),
        lambda: moments.stage("deploy", "agent-off"),
        lambda: moments.on(2),
    ):
        moment()
        kill_and_start(story)
    called = running.called()
    assert called.failure == "", called
    deployed = running.ended()
    assert deployed["status"] == "done", deployed
    running.guest.tenant.connect()
    moments.shows(READY)
    until(running.guest.tenant.answers, "a login", within_s=60)
    return deployed


def test_an_image_goes_on_where_it_was_when_the_blob_server_dies_under_it(story):
    with deployment(story, "bios1") as running:
        running.wait_for("write-image")
        outside.in_small_pieces(story, "nginx", lambda: running.opened()["note"] == "write")
        done = running.opened()["progress_bytes"]
        outside.end_by_force(story, "nginx")
        whole = outside.answered(story, "wide/image.raw")
        story.rack.up()

        assert running.called().failure == ""
        assert running.ended()["status"] == "done"
    assert 0 < done[0] < done[1]
    after = outside.answered(story, "wide/image.raw")[len(whole) :]
    image = story.rack.paths.blobs / "images" / "wide" / "image.raw"
    assert 0 < sum(after) < image.stat().st_blocks * 512, "only the rest was asked for again"


def test_an_image_that_rotted_is_not_installed_and_the_server_is_free_again(story):
    story.rest("bios1")
    blob = story.rack.paths.blobs / "images" / "wide" / "image.raw"
    with outside.flipped(blob, blob.stat().st_size - 20 * MIB), deployment(story, "bios1") as one:
        assert "IMAGE_DIGEST" in one.called().failure
        assert one.ended()["ending"] == "ours"
        story.service.wait_for_state("bios1", "AVAILABLE")


def test_a_stranger_who_asks_for_the_token_after_the_server_took_it_ends_the_operation(story):
    with deployment(story, "bios1") as running:
        running.took_its_script()

        status, text = boot_script(story, "bios1")

        assert status == 403
        assert "rackwright.token" not in text
        assert "BOOT_TOKEN_TAKEN" in running.called().failure
    ends_in_quarantine(story, "BOOT_TOKEN_TAKEN")
