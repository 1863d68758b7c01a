"""What every command says to programs: one versioned form."""

import json

import pytest

from provisioner.ports.differences import Act, Finding, Report
from provisioner.servers.operation import Status
from provisioner.service.openapi import document
from tests.unit.cli.rig import MANIFEST, chain_of, write_manifest
from tests.unit.cli.tree import call, leaves
from tests.unit.hosts.built import good_host

GONE = Finding(
    kind="claimed-unknown-to-cloudstack",
    instance="i-1",
    name="i-2-1-VM",
    server="bios1",
    there="not shown",
    here="active on bios1",
    cause="expunged without a delete",
    remedy="apply it",
    act=Act.RELEASE,
)
NO_ANSWER = {("serve",), ("completion",), ("lab", "payload"), ("host", "bundle-command")}
"""The service itself, and those whose only output is for a program already."""
ELSEWHERE = {
    *(("ramdisk", "build"), ("ramdisk", "update"), ("evidence", "verify-chain")),
    *(("lab", "cloudstack", word) for word in ("up", "down", "status")),
    ("host", "bundle"),
}
"""They work on real files or processes, in tests of their own; the others are all called here."""


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
    if words == ("reconcile", "apply"):
        rig.desk.compared = (Report(site="lab", at=0.0, findings=(GONE,)),)
        given[-1] = GONE.id
    if words == ("evidence", "export"):
        given = [*words, "--all", str(rig.folder / "all"), "--"]
    if words in {("pool", "show"), ("pool", "put")}:
        given[-1] = "a"
    if words in {("image", "show"), ("image", "remove")}:
        given[-1] = "tiny"
    if words[0] == "host" and words[1] != "list":
        (rig.folder / "h.tar").write_bytes(good_host().packed())
        given.insert(len(words), f"--bundle={rig.folder / 'h.tar'}")
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


LOOKS = {
    *(
        (group, word)
        for group in ("server", "pool", "image", "operation")
        for word in ("list", "show")
    ),
    *(("server", "calls"), ("operation", "follow"), ("audit", "list"), ("config", "check")),
    ("reconcile", "list"),
    *(
        ("host", word)
        for word in ("bundle-command", "bundle", "list", "show", "topology", "findings")
    ),
    *(("evidence", word) for word in ("show", "export", "verify", "verify-chain")),
    *(("lab", "status"), ("lab", "payload"), ("lab", "cloudstack", "status"), ("completion",)),
}
MAKES = {
    *(("init",), ("init", "token"), ("init", "entry"), ("serve",), ("lab", "up"), ("lab", "down")),
    *(("image", "build"), ("ramdisk", "build"), ("ramdisk", "update")),
    *(("lab", "cloudstack", "up"), ("lab", "cloudstack", "down")),
}
"""They make files for who calls them, or what evidence is kept with: no service is asked."""
HARDWARE = {"server", "operation", "reconcile", "host"}


def test_every_command_speaks_to_programs_too(rig):
    for words, command in leaves(rig.cli):
        options = {option for each in command.params for option in each.opts}
        assert ("--output" in options) == (words not in NO_ANSWER), words


def test_every_change_can_be_written_down_and_rehearsed_where_it_touches_hardware(rig):
    changing = dict(leaves(rig.cli)).keys() - LOOKS - MAKES
    assert dict(leaves(rig.cli)).keys() >= LOOKS | MAKES
    for words, command in leaves(rig.cli):
        options = {option for each in command.params for option in each.opts}
        assert ("--evidence" in options) == (words in changing), words
        touches = words in changing and words[0] in HARDWARE
        assert ("--dry-run" in options) == touches, words


def test_every_change_leaves_a_record_whose_last_word_can_be_run(full):
    rig, identifier = full
    written = 0
    for words, command in leaves(rig.cli):
        if words in LOOKS | MAKES:
            continue
        if words[0] == "operation":
            identifier = rig.begin()
        folder = rig.folder / "-".join(words)
        given = words_of(rig, identifier, words, command)
        at = len(words)
        done = rig.run(*given[:at], "--evidence", str(folder), *given[at:])
        assert done.exit_code == 0, (words, done.output)
        (path,) = folder.iterdir()
        record = json.loads(path.read_text())
        assert record["asked"].split()[0] == words[-1]
        assert record["checked"]
        assert record["state"]
        assert rig.run(*record["repeat"][1:]).exit_code == 0, record["repeat"]
        written += 1
    assert written > 12
