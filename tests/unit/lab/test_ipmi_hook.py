import json
import os

import pytest

from provisioner.lab import ipmi_hook


def test_a_server_without_a_process_is_off_and_has_no_boot_device(tmp_path, capsys):
    assert ipmi_hook.main(tmp_path, ["get", "power", "boot", "identify"]) == 0

    assert capsys.readouterr().out == "power:0\nboot:none\nidentify:0\n"


def test_what_the_controller_is_told_is_kept_and_read_back(tmp_path, capsys):
    ipmi_hook.main(tmp_path, ["set", "boot", "pxe"])
    ipmi_hook.main(tmp_path, ["get", "boot"])

    assert capsys.readouterr().out == "boot:pxe\n"
    (line,) = (tmp_path / "power.log").read_text().splitlines()
    assert json.loads(line)["told"] == "boot pxe"


@pytest.mark.parametrize("kept", ["", "x", f"{os.getpid()} 1", "4194305 1"])
def test_a_record_of_another_process_means_off(tmp_path, capsys, kept):
    (tmp_path / "qemu").write_text(kept)

    ipmi_hook.main(tmp_path, ["get", "power"])

    assert capsys.readouterr().out == "power:0\n"


def test_switching_off_a_server_that_is_off_is_nothing(tmp_path):
    assert ipmi_hook.main(tmp_path, ["set", "power", "0"]) == 0
    assert ipmi_hook.main(tmp_path, ["set", "shutdown", "1"]) == 0


def test_anything_else_is_a_failure_of_the_controller(tmp_path):
    assert ipmi_hook.main(tmp_path, ["check"]) == 1
