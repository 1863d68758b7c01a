"""Evidence of wipes: shown, exported, and verified on the way."""

import json

import pytest

from provisioner.errors import ErrorCode
from tests.unit.cli.rig import chain_of, failed


def test_evidence_is_shown_and_exported(rig):
    chain_of(rig)
    assert "bios1" in rig.run("evidence", "show").stdout
    assert json.loads(rig.run("evidence", "show", "2").stdout)["sequence"] == 2
    failed(rig.run("evidence", "show", "3"), ErrorCode.EVIDENCE_UNKNOWN, 64)
    folder = rig.folder / "export"
    assert rig.run("evidence", "export", "--all", str(folder)).stdout == f"2 records in {folder}\n"
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["00000001.json", "00000002.json", "head.json", "untrusted-key.pem"]
    done = rig.run("evidence", "export", "--all", str(folder))
    failed(done, ErrorCode.IN_USE, 3)


def test_evidence_of_an_unknown_key_is_no_evidence(rig):
    chain_of(rig)
    folder, key = rig.folder / "export", rig.folder / "key.pem"
    rig.run("evidence", "export", "--all", str(folder))
    key.write_bytes(b"x" * 32)
    words = ("evidence", "verify", str(folder / "00000001.json"), "--key", str(key))
    failed(rig.run(*words), ErrorCode.EVIDENCE_INVALID, 4)
    done = rig.run("evidence", "verify-chain", str(folder), "--key", str(key), "--output", "json")
    assert done.exit_code == 4
    assert json.loads(done.stdout)["good"] is False
    failed(
        rig.run("evidence", "verify", "/nowhere", "--key", str(key)), ErrorCode.FILE_UNREADABLE, 64
    )


@pytest.mark.parametrize("content", [b"", b"\xff\x00", b'{"version": 1, "seq'])
def test_a_damaged_record_is_bad_evidence_not_a_bad_argument(rig, content):
    chain_of(rig)
    folder, key = rig.folder / "export", rig.folder / "key.pem"
    rig.run("evidence", "export", "--all", str(folder))
    key.write_bytes(b"x" * 32)
    (folder / "00000001.json").write_bytes(content)
    for words in (("verify", str(folder / "00000001.json")), ("verify-chain", str(folder))):
        failed(rig.run("evidence", *words, "--key", str(key)), ErrorCode.EVIDENCE_INVALID, 4)


def test_an_export_without_a_record_is_never_good(rig):
    folder, key = rig.folder / "empty", rig.folder / "key.pem"
    folder.mkdir()
    key.write_bytes(b"x" * 32)
    done = rig.run("evidence", "verify-chain", str(folder), "--key", str(key))
    failed(done, ErrorCode.EVIDENCE_INVALID, 4)
    assert done.stdout == ""


def test_one_record_is_no_plural(rig):
    chain_of(rig)
    del rig.desk.chain[1:]
    folder = rig.folder / "one"
    assert rig.run("evidence", "export", "--all", str(folder)).stdout == f"1 record in {folder}\n"
