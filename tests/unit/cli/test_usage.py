"""What was called wrongly, and files that cannot be read: one line and an exit status."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from provisioner.cli.service_client import error_of
from provisioner.errors import ErrorCode, OperatorError
from tests.unit.cli.rig import MANIFEST, failed, write_manifest

_UNREADABLE = ErrorCode.FILE_UNREADABLE
INSTANCE = "aaaaaaaa-0000-4000-8000-000000000007"


@pytest.mark.parametrize(
    "words",
    [
        ("server", "colour"),
        ("server", "show"),
        ("server", "list", "--output", "xml"),
        ("--nothing",),
        ("server", "quarantine", "bios1"),
        ("server", "rebaseline", "bios1"),
        ("server", "adopt", "bios1"),
        ("server", "adopt", "bios1", "--instance", INSTANCE),
        ("server", "adopt", "bios1", "--site", "lab"),
        ("server", "adopt", "bios1", "--site", "lab", "--instance", "i-2-7-VM"),
        ("server", "maintenance", "bios1"),
        ("server", "maintenance", "bios1", "--end", "--reason", "x"),
        ("server", "enrol"),
        ("server", "enrol", "m.yaml", "--name", "x"),
        ("server", "enrol", "--name", "x", "--nic", "aa"),
        ("server", "enrol", "--name", "x", "--root-disk", "serial"),
        ("pool", "put", "a", "--image", "x"),
        ("init", "token", "x", "king"),
        ("init", "entry", "mgmt1"),
        ("init", "entry", "mgmt1", "--site", "zone1"),
        ("init", "entry", "mgmt1", "--out", "/o"),
        ("init", "entry", "mgmt1", "--site", "zone1", "--out", "/o", "--revoke"),
        ("init", "entry", "mgmt1", "--site", "zone1", "--out", "/o", "--but-newest"),
        ("init", "entry", "mgmt1", "--site", "zone1", "--out", "/o", "--days", "0"),
    ],
)
def test_wrong_usage_is_one_line_and_64(rig, words):
    failed(rig.run(*words), ErrorCode.USAGE, 64)


@pytest.mark.parametrize("words", [(), ("server",), ("operation",), ("lab",)])
def test_without_a_command_the_help_is_shown(rig, words):
    done = rig.runner.invoke(rig.cli, list(words))
    assert (done.exit_code, "Usage:" in done.stdout) == (64, True)


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (ErrorCode.PAYLOAD_FIELD, 64),
        (ErrorCode.STATE_CONFLICT, 3),
        (ErrorCode.CANNOT_TELL, 4),
        (ErrorCode.DATABASE_BUSY, 75),
        (ErrorCode.INTERNAL, 1),
    ],
)
def test_the_services_error_becomes_a_line_and_the_exit_status_of_its_code(rig, code, status):
    rig.desk.refuse = OperatorError(code, "not\nnow\x1b[31m")
    line = failed(rig.run("server", "inspect", "bios1"), code, status)
    assert line == f"{code}: not now\ufffd[31m\n"


def test_an_answer_that_is_not_understood_is_said_to_be(rig):
    for body in (b"", b"{}", b'{"error": 1}', b'{"error": {"kind": "input", "code": "NEW"}}'):
        assert error_of(500, body).code is ErrorCode.INTERNAL
    failed(rig.run("server", "show", "gone"), ErrorCode.SERVER_UNKNOWN, 64)


def test_help_names_everything(rig):
    text = rig.run("--help").stdout
    for name in ("server", "pool", "image", "ramdisk", "operation", "evidence", "lab", "serve"):
        assert f"  {name} " in text


def test_completion_is_printed_for_each_shell(rig):
    for shell in ("bash", "zsh", "fish"):
        assert "_RACKWRIGHT_COMPLETE" in rig.run("completion", shell).stdout


@pytest.fixture
def pipe(tmp_path: Path) -> Iterator[str]:
    """A pipe that nobody writes into; whoever waits for it does not wait for ever."""

    def ring(*_given: object) -> None:
        raise AssertionError("waits for a pipe")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(10)
    os.mkfifo(tmp_path / "pipe")
    yield str(tmp_path / "pipe")
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize(
    "words",
    [
        ("config", "check", "--config", "PIPE"),
        ("server", "enrol", "PIPE"),
        ("server", "change", "bios1", "--password-file", "PIPE"),
        ("evidence", "verify", "PIPE", "--key", "GOOD"),
        ("evidence", "verify", "GOOD", "--key", "PIPE"),
        ("evidence", "verify-chain", "FOLDER", "--key", "GOOD"),
        ("evidence", "verify-chain", "FOLDER", "--key", "GOOD", "--head", "PIPE"),
        ("ramdisk", "build", "--lock", "PIPE"),
    ],
)
def test_a_pipe_is_no_file_and_is_not_waited_for(rig, pipe, words):
    folder, good = rig.folder / "export", rig.folder / "good"
    folder.mkdir()
    os.mkfifo(folder / "00000001.json")
    good.write_bytes(b"x" * 32)
    named = {"PIPE": pipe, "GOOD": str(good), "FOLDER": str(folder)}
    line = failed(rig.run(*(named.get(word, word) for word in words)), _UNREADABLE, 64)
    assert line.endswith(": no regular file\n")


def test_a_password_file_of_a_manifest_is_no_pipe(rig, pipe):
    path = write_manifest(rig, MANIFEST.replace("password_file: secret", "password_file: pipe"))
    assert pipe in failed(rig.run("server", "enrol", path), _UNREADABLE, 64)
