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
from provisioner.testing.hosts import SHOWN_KEY
from tests.unit.hosts.built import GPU, good_host, recorded

UUID = "11111111-2222-4333-8444-555555555555"


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


# --- with a service -------------------------------------------------------------------------
SSH = ("--address", "10.0.0.7", "--key-file", "/k", "--fingerprint", "SHA256:" + "A" * 43)


@pytest.fixture
def served(rig):
    rig.desk.gpu_hosts.gather.content = recorded("dell-xe9680-h200-mig")
    return rig


def test_a_host_is_enrolled_over_ssh_and_shown(served):
    done = served.run(
        "host", "add", "gpu1", *SSH, "--controller", "10.0.9.7", "--cloudstack", f"lab/{UUID}"
    )
    assert done.exit_code == 0, done.output
    (asked,) = served.desk.gpu_hosts.gather.asked
    assert (asked.target.host, asked.target.user, str(asked.key_file)) == ("10.0.0.7", "root", "/k")
    for part in (
        "root@10.0.0.7:22",
        SHOWN_KEY,
        "10.0.9.7:443",
        f"lab/{UUID}",
        "NVIDIA H200",
        "140 GiB",
    ):
        assert part in done.output
    assert served.run("host", "show", "gpu1").output == done.output
    listed = served.run("host", "list").output.splitlines()
    assert "2 x NVIDIA H200 SXM 141GB" in listed[1]
    assert "2 warns, 2 notes" in listed[1]


def test_a_host_that_is_there_answers_as_its_bundle_does(served, tmp_path):
    served.run("host", "add", "gpu1", *SSH)
    path = tmp_path / "h.tar.gz"
    assert served.run("host", "bundle", "gpu1", str(path)).exit_code == 0
    for words in (("findings",), ("topology",), ("topology", "--all")):
        of_service = served.run("host", *words, "gpu1")
        assert of_service.output == served.run("host", *words, "--bundle", str(path)).output != ""


def test_a_rehearsal_says_so(served):
    done = served.run("host", "add", "gpu1", *SSH, "--dry-run")
    assert done.output.startswith("only looked at, nothing is remembered\n")
    assert served.run("host", "list", "--output", "json").output.count("gpu1") == 0


def test_through_a_jump_host_with_an_agent(served):
    words = ("--address", "10.0.0.7", "--agent", "--user", "ops", "--jump", "me@[fd00::1]:2222")
    pin = "SHA256:" + "B" * 43
    done = served.run("host", "add", "gpu1", *words, "--jump-fingerprint", pin)
    assert done.exit_code == 0, done.output
    (asked,) = served.desk.gpu_hosts.gather.asked
    assert (asked.key_file, asked.target.user, asked.target.host_key) == (None, "ops", "")
    assert (asked.jump.user, asked.jump.host, asked.jump.port) == ("me", "fd00::1", 2222)
    assert asked.jump.host_key == pin


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "give --address, or --bundle"),
        (("--jump", "a"), "give --address with"),
        (("--address", "a"), "either --key-file or --agent"),
        (("--address", "a", "--agent", "--key-file", "k"), "either --key-file or --agent"),
        (("--address", "a", "--agent", "--jump", "b"), "--jump and --jump-fingerprint together"),
        (("--address", "a", "--agent", "--jump", "@", "--jump-fingerprint", "x"), "[USER@]HOST"),
        (("--address", "a", "--agent", "--controller", "u@b"), "HOST[:PORT] is expected"),
        (("--address", "a", "--agent", "--cloudstack", "zone1"), "SITE/UUID is expected"),
        (("--address", "a b", "--agent"), "access.target.host: an address or a host name"),
        (("--address", "a", "--agent", "--fingerprint", "MD5:x"), "access.target.host_key: SHA256"),
    ],
)
def test_options_that_do_not_go_together(served, words, says):
    done = served.run("host", "add", "gpu1", *words)
    assert done.exit_code == 64
    assert says in done.output
    assert served.desk.gpu_hosts.gather.asked == []


@pytest.mark.parametrize("word", ["show", "inspect", "topology", "findings"])
def test_a_host_that_nobody_knows(served, word):
    done = served.run("host", word, "gpu9")
    assert (done.exit_code, done.output.split(":")[0]) == (64, "HOST_UNKNOWN")


@pytest.mark.parametrize("word", ["show", "topology", "findings"])
def test_a_name_and_a_bundle_are_two_hosts(served, bundle, word):
    assert served.run("host", word).exit_code == 64
    assert served.run("host", word, "gpu1", "--bundle", str(bundle)).exit_code == 64


def test_newer_texts_may_be_brought_by_hand(served, bundle, tmp_path):
    path = tmp_path / "old.tar.gz"
    path.write_bytes(recorded("dell-xe9680-h200-mig"))
    served.run("host", "add", "gpu1", "--bundle", str(path))
    done = served.run("host", "inspect", "gpu1", "--bundle", str(bundle))
    assert (done.exit_code, done.output.split(":")[0]) == (4, "OTHER_MACHINE")
    assert served.run("host", "inspect", "gpu1", "--bundle", str(path)).exit_code == 0


def test_a_bundle_that_is_none_is_refused_by_the_service_too(served, tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"x")
    done = served.run("host", "add", "gpu1", "--bundle", str(path))
    assert done.output.startswith("BUNDLE_INVALID: gpu1: no tar")


OLDER_DRIVER = """#!/bin/sh
case "$*" in
*gpu_recovery_action*) echo 'Field "gpu_recovery_action" is not a valid field to query.'; exit 2 ;;
--query-gpu=*) echo 'index, pci.bus_id, name, memory.total [MiB]'
  echo '0, 00000000:41:00.0, NVIDIA A100 80GB PCIe, 81920 MiB' ;;
*) exit 6 ;;
esac
"""


@pytest.mark.emulated
def test_a_driver_that_does_not_know_a_field_is_asked_without_it(tmp_path):
    tool = tmp_path / "bin" / "nvidia-smi"
    tool.parent.mkdir()
    tool.write_text(OLDER_DRIVER)
    tool.chmod(0o755)
    path = f"{tool.parent}:/usr/bin:/bin"
    script = collect_script().encode()
    done = subprocess.run(["sh"], input=script, capture_output=True, check=True, env={"PATH": path})
    said = read_bundle(done.stdout, source="here").commands
    assert said["nvidia-smi"].status == 0
    assert "NVIDIA A100 80GB PCIe, 81920 MiB" in said["nvidia-smi"].output
    assert said["nvidia-mig"].status == 6
