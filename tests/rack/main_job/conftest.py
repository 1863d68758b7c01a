"""One site for the main job and for the faults after it: a story, told once."""

from dataclasses import dataclass, field

import pytest

from cloudstack_ext.lab.site import IMAGES, LabSite
from cloudstack_ext.lab.stages import MainJob
from provisioner.lab.layout import Layout
from provisioner.lab.rack import Rack
from provisioner.lab.serial_log import SerialLog
from tests.rack.main_job import wide_image
from tests.rack.main_job.layout import SERVERS
from tests.rack.main_job.service import Service, until

STORY = "test_main_job.py"
TIMES = {"proof_settle_s": 45, "wipe_off_s": 5}
"""Memory keeps nothing of a machine whose process has ended."""


@dataclass(slots=True)
class Story:
    """The site, the main job on it, and whether it came to a bad end."""

    site: LabSite
    job: MainJob = field(init=False)
    service: Service = field(init=False)
    broken: str = ""

    def __post_init__(self):
        self.job = MainJob(site=self.site)
        self.service = Service(self.site)

    @property
    def rack(self):
        return self.site.rack

    def import_wide(self):
        """The image with holes and a body, known to the pool."""
        images = self.rack.paths.blobs / "images"
        wide = self.rack.paths.state / "wide.raw"
        wide_image.make(images / "tiny" / "image.raw", wide)
        self.site.command("image", "import", str(wide), "--name", "wide")
        self.site.pool(IMAGES | {"wide": "wide"})
        return wide

    def rest(self, name):
        """Bring a server to AVAILABLE, from wherever the last test left it."""
        if not self.service.runs():
            self.site.up()
            self.import_wide()
        elif self.service.state(name) == "QUARANTINED":
            until(
                lambda: not self.service.open_operations(name),
                f"what put {name} into quarantine ends",
                within_s=400,
            )
            serials = [disk.serial for disk in self.server(name).disks]
            words = [word for serial in serials for word in ("--erase", serial)]
            self.site.command("server", "provide", name, *words)
        self.service.wait_for_state(name, "AVAILABLE")

    def server(self, name):
        return self.rack.layout.server(name)

    def console(self, name):
        """What its serial port said."""
        return SerialLog(self.rack.paths.serial_log(self.server(name)))

    def disk(self, serial):
        """The file of a disk."""
        disks = [disk for server in SERVERS for disk in server.disks]
        (wanted,) = [disk for disk in disks if disk.serial == serial]
        return self.rack.paths.disk(wanted)


@pytest.fixture(scope="package")
def story(empty_rack):
    """Nothing runs at its beginning, and at its end the rack is as other tests expect it."""
    empty_rack.forget()
    rack = Rack(Layout(prefix=empty_rack.layout.prefix, servers=SERVERS), empty_rack.paths)
    yield Story(site=LabSite(rack=rack, say=print, times=TIMES))
    rack.forget()
    empty_rack.up()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.failed and item.path.name == STORY and "story" in item.funcargs:
        story = item.funcargs["story"]
        story.broken = story.broken or item.name
    return report
