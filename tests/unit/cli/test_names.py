"""Names and ids that are none, or that nobody has: one line, one code, in every command."""

import click
import pytest

from provisioner.cli.names import Identifier, Name
from provisioner.errors import ErrorCode
from tests.unit.cli.rig import failed
from tests.unit.cli.tree import call, leaves, places

ODD = ("", "a/b", "..", "a b", "A", "x" * 300, "a\nb", "\x1b[31m", "\udcff", "-a", "ä", "a%")
NOBODY = "nobody"
UUID = "00000000-0000-4000-8000-0000000000ff"


@pytest.mark.parametrize("odd", ODD, ids=ascii)
def test_what_can_be_no_name_is_refused_before_anybody_is_asked(rig, odd):
    found = list(places(rig.cli, Name))
    assert len(found) > 12
    for words, command, parameter in found:
        done = rig.run(*call(words, command, parameter, odd))
        line = failed(done, ErrorCode.NAME_INVALID, 64)
        assert len(line) < 200, words
    assert rig.desk.asked == []


@pytest.mark.parametrize("odd", ODD, ids=ascii)
def test_what_can_be_no_operation_is_none(rig, odd):
    found = list(places(rig.cli, Identifier))
    assert len(found) == 5
    for words, command, parameter in found:
        done = rig.run(*call(words, command, parameter, odd))
        assert len(failed(done, ErrorCode.OPERATION_UNKNOWN, 64)) < 200, words


CODES = {
    "server": ErrorCode.SERVER_UNKNOWN,
    "pool": ErrorCode.POOL_UNKNOWN,
    "image": ErrorCode.IMAGE_UNKNOWN,
    "site": ErrorCode.SITE_UNKNOWN,
    "host": ErrorCode.HOST_UNKNOWN,
}
MAKES = {
    *(("pool", "put"), ("image", "import"), ("init", "token"), ("init", "entry")),
    ("host", "add"),
}


def test_what_nobody_has_is_unknown_in_one_way_everywhere(rig):
    for words, command, parameter in places(rig.cli, Name):
        if words in MAKES:
            continue
        what = words[0] if parameter.name == "name" else parameter.name
        done = rig.run(*call(words, command, parameter, NOBODY))
        assert NOBODY in failed(done, CODES[what], 64), words
    for words, command, parameter in places(rig.cli, Identifier):
        done = rig.run(*call(words, command, parameter, UUID))
        assert UUID in failed(done, ErrorCode.OPERATION_UNKNOWN, 64), words


def test_a_state_that_is_none_is_refused_with_those_that_are(rig):
    line = failed(rig.run("server", "list", "--state", "foo"), ErrorCode.PAYLOAD_FIELD, 64)
    assert line.startswith("PAYLOAD_FIELD: --state: one of ENROLLED, VERIFYING, ")


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (("server", "quarantine", "bios1", "--reason", "a\nb"), "--reason"),
        (("server", "change", "bios1", "--certificate", "x"), "--certificate"),
        (("pool", "put", "a", "--wipe-class", "never"), "--wipe-class"),
        (("pool", "put", "a", "--min-gpus", "-1"), "--min-gpus"),
    ],
)
def test_a_value_that_the_service_refuses_is_named_by_its_option(rig, words, option):
    line = failed(rig.run(*words), ErrorCode.PAYLOAD_FIELD, 64)
    assert line.startswith(f"PAYLOAD_FIELD: {option}: ")


def test_no_option_takes_another_option_for_its_value(rig):
    seen = 0
    for words, command in leaves(rig.cli):
        for option in command.params:
            if not isinstance(option, click.Option) or option.is_flag:
                continue
            given = [each for each in call(words, command, option, "x") if each != "--"]
            at = given.index(f"{option.opts[0]}=x")
            given[at : at + 1] = [option.opts[0], "--dry-run"]
            done = rig.run(*given)
            line = failed(done, ErrorCode(done.stderr.partition(":")[0]), 64)
            assert "--dry-run" in line, given
            seen += 1
    assert seen > 60
    assert rig.desk.asked == []


def test_what_was_meant_as_a_rehearsal_is_no_act(rig):
    done = rig.run("server", "quarantine", "bios1", "--reason", "--dry-run")
    line = failed(done, ErrorCode.USAGE, 64)
    assert "--reason" in line
    assert "begins with a dash" in line
    assert rig.desk.asked == []
