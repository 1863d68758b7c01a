"""The systemd units, as systemd itself reads them."""

import shutil
import subprocess
from pathlib import Path

import pytest

import provisioner.service
from provisioner.errors import Kind

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


def test_dnsmasq_and_nginx_start_after_the_service_has_written_their_configuration():
    service = settings_of("rackwright.service")
    assert service["Type"] == "notify"
    others = sorted(each.name for each in UNITS.glob("rackwright-*.service"))
    assert others == ["rackwright-dnsmasq.service", "rackwright-nginx.service"]
    for name in others:
        found = settings_of(name)
        assert "rackwright.service" in found["After"].split()
        assert found["PartOf"] == "rackwright.service"
        assert found["WantedBy"] == "rackwright.service"


def test_what_heals_by_itself_is_started_again():
    service = settings_of("rackwright.service")
    assert service["Restart"] == "always"
    final = {int(each) for each in service["RestartPreventExitStatus"].split()}
    heals = {Kind.TRANSIENT.exit_code, Kind.INTERNAL.exit_code}
    assert final == {kind.exit_code for kind in Kind} - heals


def settings_of(name):
    lines = (UNITS / name).read_text().splitlines()
    pairs = [line.split("=", 1) for line in lines if "=" in line and not line.startswith("#")]
    return dict(pairs)


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
