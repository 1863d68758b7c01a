"""The demo on the tests' rack: interrupted in the middle, and with Debian on the UEFI server."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cloudstack_ext.lab.site import DEBIAN, LabSite
from cloudstack_ext.lab.stages import TINY, MainJob
from provisioner.lab import namespaces
from provisioner.lab.layout import SERVICE_UID
from tests.rack.main_job.service import until

REPOSITORY = Path(__file__).parents[2]
PROGRAM = """
import sys
from pathlib import Path
from cloudstack_ext.lab.demo import play, say
from cloudstack_ext.lab.site import LabSite
from provisioner.lab.layout import LabPaths, Layout
from provisioner.lab.rack import Rack
state, cache, prefix = sys.argv[1:]
paths = LabPaths(state=Path(state), cache=Path(cache))
sys.exit(play(LabSite(rack=Rack(Layout(prefix=prefix), paths), say=say), ["--quick"]))
"""


def processes_of(uid):
    """Whatever runs with this user."""
    return [
        int(entry.name)
        for entry in Path("/proc").iterdir()
        if entry.name.isdecimal() and entry.stat().st_uid == uid
    ]


def everything_is_gone(rack):
    for namespace in (rack.layout.rack, rack.layout.tenant):
        assert namespaces.dwellers(namespace) == ()
        assert not namespaces.exists(namespace)
        assert namespace not in Path("/proc/mounts").read_text()
    assert str(rack.paths.state) not in Path("/proc/mounts").read_text()
    assert rack.processes() == {}


@pytest.mark.rack
def test_ctrl_c_in_the_middle_takes_everything_down(empty_rack):
    rack = empty_rack
    rack.forget()
    others = processes_of(SERVICE_UID)
    argv = [sys.executable, "-c", PROGRAM, str(rack.paths.state), str(rack.paths.cache)]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [*argv, rack.layout.prefix], cwd=REPOSITORY, stdout=pipe, text=True, start_new_session=True
    ) as demo:
        until(lambda: "qemu-bios1" in rack.processes(), "bios1 is on", within_s=300)
        assert len(processes_of(SERVICE_UID)) > len(others)

        os.killpg(demo.pid, signal.SIGINT)
        said = demo.communicate(timeout=60)[0]

    assert demo.returncode == 130, said
    everything_is_gone(rack)
    assert processes_of(SERVICE_UID) == others


@pytest.mark.rack_long
def test_debian_with_cloud_init_lives_through_the_whole_job(empty_rack):
    empty_rack.forget()
    seconds = []
    site = LabSite(rack=empty_rack, say=seconds.append)
    try:
        for stage in MainJob(site=site, images=(TINY, DEBIAN)).stages():
            assert stage.act(), stage.name
    finally:
        site.down()
    everything_is_gone(empty_rack)
