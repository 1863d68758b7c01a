"""The systemd units, as systemd itself reads them."""

import shutil
import subprocess
from pathlib import Path

import pytest

import provisioner.service

UNITS = Path(provisioner.service.__file__).parent / "units"
pytestmark = pytest.mark.emulated


def test_systemd_finds_nothing_wrong_with_the_units(tmp_path):
    command = shutil.which("true")
    for unit in UNITS.glob("*.service"):
        # where the package will be installed: not there on the machine that tests
        text = unit.read_text().replace("/opt/rackwright/bin/rackwright", command)
        (tmp_path / unit.name).write_text(text)
    units = sorted(tmp_path.glob("*.service"))
    assert len(units) == 3
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *units],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_wrong_unit_would_be_found(tmp_path):
    unit = tmp_path / "wrong.service"
    unit.write_text("[Service]\nExecStart=/bin/nothing-there\nColour=red\n")
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", unit],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode != 0
    assert "Colour" in done.stderr
