"""Faults that fit beside the main job: kills, strangers, a disk that is too small."""

import pytest

from cloudstack_ext.contract import Verb
from cloudstack_ext.lab.guest import READY, Guest
from cloudstack_ext.lab.site import IMAGES
from tests.rack.controls import Controls
from tests.rack.main_job import outside
from tests.rack.main_job.outside import boot_script, deployment, ends_in_quarantine
from tests.rack.main_job.service import until

pytestmark = pytest.mark.rack_long


def kill_and_start(story):
    story.service.kill()
    story.service.start()


def test_an_image_larger_than_the_disk_is_refused_before_power_is_touched(story, tmp_path):
    story.rest("bios1")
    large = tmp_path / "large.raw"
    tiny = story.rack.paths.blobs / "images" / "tiny" / "image.raw"
    with large.open("wb") as image:
        image.write(tiny.read_bytes())
        image.truncate(200 << 20)
    story.site.command("image", "import", str(large), "--name", "large")
    story.site.pool(IMAGES | {"wide": "wide", "large": "large"})
    before = outside.power_log(story, "bios1")

    guest = Guest.of(story.site, tmp_path, "omega", image="large", user_data=outside.USER_DATA)
    with outside.only(story, "bios1"):
        called = guest.ask(Verb.CREATE)

    assert "DISK_TOO_SMALL" in called.failure
    assert outside.power_log(story, "bios1") == before
    assert story.service.state("bios1") == "AVAILABLE"


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


def test_a_stranger_who_asks_for_the_token_after_the_server_took_it_ends_the_operation(story):
    with deployment(story, "bios1") as running:
        running.took_its_script()

        status, text = boot_script(story, "bios1")

        assert status == 403
        assert "rackwright.token" not in text
        assert "BOOT_TOKEN_TAKEN" in running.called().failure
    ends_in_quarantine(story, "BOOT_TOKEN_TAKEN")
