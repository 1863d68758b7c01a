"""What every command says to programs: one versioned form."""

import json

import pytest

from provisioner.servers.operation import Status
from provisioner.service.openapi import document
from tests.unit.cli.test_cli import MANIFEST, chain_of, write_manifest
from tests.unit.cli.tree import call, leaves

NO_ANSWER = {("serve",), ("completion",), ("lab", "payload")}
"""The service itself, and those whose only output is for a program already."""
ELSEWHERE = {("ramdisk", "build"), ("ramdisk", "update"), ("evidence", "verify-chain")}
"""They work on real files, in tests of their own; the others are all called here."""


@pytest.fixture
def full(rig):
    """With something of everything; operations end when they are followed."""
    identifier = rig.begin()
    rig.run("image", "import", "/src", "--name", "tiny")
    chain_of(rig)
    rig.end_as = Status.DONE
    return rig, identifier


def words_of(rig, identifier, words, command):
    given = call(words, command)
    behind = {
        ("server", "enrol"): [write_manifest(rig, MANIFEST.replace("bios1", "bios2"))],
        ("evidence", "export"): [],
        ("evidence", "verify"): [str(rig.folder / "one" / "00000001.json")],
    }
    if words == ("evidence", "verify"):
        rig.run("evidence", "export", "--all", str(rig.folder / "one"))
        (rig.folder / "key").write_bytes(b"x" * 32)
        given = [*words, "--key", str(rig.folder / "key"), "--"]
    if words[0] == "operation" and words[1] != "list":
        given[-1] = identifier
    if words == ("evidence", "export"):
        given = [*words, "--all", str(rig.folder / "all"), "--"]
    if words in {("pool", "show"), ("pool", "put")}:
        given[-1] = "a"
    if words in {("image", "show"), ("image", "remove")}:
        given[-1] = "tiny"
    given += behind.get(words, [])
    at = len(words)
    return [*given[:at], "--output", "json", *given[at:]]


def documents(text):
    """One or more JSON values behind each other."""
    decoder, found = json.JSONDecoder(), []
    while text := text.strip():
        value, end = decoder.raw_decode(text)
        found.append(value)
        text = text[end:]
    return found


def test_every_answer_has_its_version(full):
    rig, identifier = full
    called = 0
    for words, command in leaves(rig.cli):
        if words in NO_ANSWER | ELSEWHERE:
            continue
        if words[0] == "operation" and words[1] in {"cancel", "retry", "follow"}:
            identifier = rig.begin()
        done = rig.run(*words_of(rig, identifier, words, command))
        found = documents(done.stdout)
        assert found, (words, done.output)
        assert {each["version"] for each in found} == {1}, words
        called += 1
    assert called > 30


def test_every_json_route_answers_with_its_version(rig):
    found = document(rig.table)
    parts = found["components"]["schemas"]
    for path, methods in found["paths"].items():
        for method, each in methods.items():
            content = each["responses"]["200"]["content"].get("application/json")
            if content is None or path == "/v1/openapi.json":
                continue
            name = content["schema"]["$ref"].rpartition("/")[2]
            assert "version" in parts[name]["properties"], (method, path)
