"""`rackwright host` on a bundle alone: no service is asked."""

import json
import shutil
import subprocess
import tarfile

import pytest

from provisioner.hosts.bundle import read_bundle
from provisioner.hosts.collect import collect_script
from provisioner.hosts.facts import Way
from provisioner.hosts.reading import read_facts
from provisioner.hosts.texts import COMMANDS
from tests.unit.hosts.built import GPU, good_host, recorded


@pytest.fixture
def bundle(tmp_path):
    path = tmp_path / "h.tar.gz"
    path.write_bytes(recorded("supermicro-epyc7401-t4-console"))
    return path


def test_a_host_in_short(rig, bundle):
    shown = rig.run("host", "inspect", "--bundle", str(bundle))
    assert shown.exit_code == 0
    for part in (
        "Supermicro SYS-421GE",
        "GRUB (/proc/cmdline: BOOT_IMAGE=",
        "NVIDIA T4",
        "16 GiB as sold",
        "nouveau",
    ):
        assert part in shown.output
    assert rig.calls == []


def test_for_programs_all_of_it_is_there(rig, bundle):
    shown = json.loads(
        rig.run("host", "inspect", "--bundle", str(bundle), "--output", "json").output
    )
    assert shown["version"] == 1
    assert shown["facts"]["gpus"][0]["address"] == GPU
    assert shown["facts"]["gpus"][0]["tool"]["serial"] == {"unknown": "no text says it"}


def test_the_tree(rig, bundle):
    shown = rig.run("host", "topology", "--bundle", str(bundle)).output.splitlines()
    assert [line.strip().split("  ")[0] for line in shown] == [
        "NUMA node 0",
        "pci0000:16",
        "0000:16:01.0",
        GPU,
    ]
    everything = rig.run("host", "topology", "--bundle", str(bundle), "--all").output
    assert "Samsung" in everything
    tree = json.loads(
        rig.run("host", "topology", "--bundle", str(bundle), "--output", "json").output
    )
    assert tree["nodes"][0]["below"][0]["below"][0]["below"][0]["name"] == GPU


def test_findings_with_evidence_meaning_and_remedy(rig, bundle):
    shown = rig.run("host", "findings", "--bundle", str(bundle)).output
    assert (
        f"blocks  CONSOLE_GPU  {GPU}\n  /sys/bus/pci/devices/{GPU}/boot_vga: 1\n  meaning: "
        in shown
    )
    found = json.loads(
        rig.run("host", "findings", "--bundle", str(bundle), "--output", "json").output
    )
    assert {"code", "weight", "subject", "evidence", "meaning", "remedy"} == set(
        found["findings"][0]
    )


def test_a_host_without_findings_says_so(rig, tmp_path):
    path = tmp_path / "h.tar"
    path.write_bytes(good_host().packed())
    assert rig.run("host", "findings", "--bundle", str(path)).output == "nothing is found\n"


def test_markup_and_control_characters_are_shown_and_not_obeyed(rig, tmp_path):
    host = good_host()
    host.rename(GPU, "GH100", "\x1b[31m[bold]GH100[/bold]")
    host.files["/sys/class/dmi/id/product_name"] = "\x1b]0;owned\x07box\n"
    path = tmp_path / "h.tar"
    path.write_bytes(host.packed())
    for word in ("inspect", "topology", "findings"):
        shown = rig.run("host", word, "--bundle", str(path))
        assert shown.exit_code == 0
        assert "\x1b" not in shown.output


@pytest.mark.parametrize("content", [b"", b"no tar", b"\x1f\x8b\x08"])
def test_what_is_no_bundle_is_one_line(rig, tmp_path, content):
    path = tmp_path / "h.tar"
    path.write_bytes(content)
    shown = rig.run("host", "inspect", "--bundle", str(path))
    assert shown.exit_code == 64
    assert shown.output.startswith(f"BUNDLE_INVALID: {path}: ")
    assert shown.output.count("\n") == 1


def test_a_file_that_is_not_there(rig, tmp_path):
    shown = rig.run("host", "inspect", "--bundle", str(tmp_path / "none"))
    assert (shown.exit_code, shown.output[:15]) == (64, "FILE_UNREADABLE")


def test_the_command_is_printed_whole(rig):
    assert rig.run("host", "bundle-command").output == collect_script()


@pytest.mark.emulated
def test_the_command_makes_a_bundle_of_this_machine_and_leaves_nothing(tmp_path):
    done = subprocess.run(
        ["sh"],
        input=collect_script().encode(),
        capture_output=True,
        check=True,
        env={"TMPDIR": str(tmp_path), "PATH": "/usr/bin:/bin"},
    )
    bundle = read_bundle(done.stdout, source="here")
    assert set(bundle.commands) <= set(COMMANDS)
    facts = read_facts(bundle, way=Way.BUNDLE)
    assert facts.problems == ()
    assert facts.boot.kernel
    assert list(tmp_path.iterdir()) == []


@pytest.mark.emulated
def test_a_command_that_is_cut_off_does_nothing(tmp_path):
    script = collect_script().encode()
    for part in (3, 4):
        cut = script[: len(script) * part // 5]
        done = subprocess.run(
            ["sh"],
            input=cut,
            capture_output=True,
            check=False,
            env={"TMPDIR": str(tmp_path), "PATH": "/usr/bin:/bin"},
        )
        assert done.stdout == b""
        assert list(tmp_path.iterdir()) == []


def test_a_bundle_is_packed_by_hand_from_anyones_text(tmp_path, rig):
    """As docs/gpu-hosts.md says."""
    folder = tmp_path / "h"
    (folder / "commands").mkdir(parents=True)
    (folder / "bundle").write_text("rackwright-host-bundle 1\ntaken_at 1796000000\nuid 1000\n")
    (folder / "commands/lspci").write_text(
        "41:00.0 3D controller [0302]: NVIDIA Corporation Device [10de:20b5] (rev a1)\n"
    )
    with tarfile.open(tmp_path / "h.tar", "w") as tar:
        tar.add(folder, arcname=".")
    shown = rig.run("host", "inspect", "--bundle", str(tmp_path / "h.tar"))
    assert "NVIDIA A100 PCIe 80GB" in shown.output
    shutil.rmtree(folder)
