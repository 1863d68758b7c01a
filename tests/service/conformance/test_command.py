"""`rackwright cloudstack conformance -- ENTRY…` with the example's own process behind it."""

import json
import os
import sys

import pytest
from click.testing import CliRunner

from cloudstack_ext.conformance.suite import chosen
from cloudstack_ext.main import callbacks
from provisioner.cli.group import make_cli
from tests.service.conformance.variants import EXAMPLE

pytestmark = pytest.mark.emulated
ROOT = EXAMPLE.parents[3]
FEW = [each.name for each in chosen("of what was never")]
"""The others are judged with the same words elsewhere, and faster."""


@pytest.fixture
def command(tmp_path):
    (tmp_path / "machines").mkdir()

    def run(*words, entry=None):
        variables = [f"PYTHONPATH={ROOT}", f"EXAMPLE_FOLDER={tmp_path}/machines"]
        entry = entry or ["/usr/bin/env", *variables, sys.executable, str(EXAMPLE)]
        line = ["cloudstack", "conformance", *words, "--", *entry]
        return CliRunner().invoke(make_cli(callbacks()), line)

    return run


FEW_OF_THEM = ("--only", "of what was never")
MAY = (
    "--instances-may-be-created",
    *FEW_OF_THEM,
    "--template-detail",
    "image=debian",
    "--host-detail",
    "pool=a",
)


def test_without_leave_to_create_instances_nothing_is_called(command, tmp_path):
    ended = command()
    assert ended.exit_code == 64
    assert "--instances-may-be-created" in ended.stderr
    assert list((tmp_path / "machines").iterdir()) == []


def test_the_table_and_the_count(command):
    ended = command(*MAY)
    assert ended.exit_code == 0, ended.output
    for name in FEW:
        assert name in ended.stdout
    assert ended.stdout.splitlines()[-1] == f"{len(FEW)} passed, 0 failed, 0 not judged"


def test_for_programs_each_test_has_name_outcome_pitfalls_and_detail(command):
    said = json.loads(command(*MAY, "--output", "json").stdout)
    assert [each["name"] for each in said["tests"]] == FEW
    assert {tuple(each) for each in said["tests"]} == {("name", "outcome", "pitfalls", "detail")}
    assert {each["outcome"] for each in said["tests"]} == {"passed"}
    assert all(each["pitfalls"] for each in said["tests"])


def test_a_failed_test_ends_with_1_and_says_what_was_seen(command):
    ended = command(*MAY, "--patience", "0.2", entry=["/bin/true"])
    assert ended.exit_code == 1
    assert "wanted a failure of its own, got exit 0" in ended.stdout


@pytest.mark.parametrize(
    ("words", "entry", "said"),
    [
        (("--host-detail", "pool"), None, "a detail is KEY=VALUE"),
        (("--only", "no such words"), None, "no test has no such words in its name"),
        ((), ["/nowhere/entry"], "not there or not executable"),
        ((), [os.devnull], "not there or not executable"),
    ],
)
def test_what_cannot_be_judged_is_refused(command, words, entry, said):
    ended = command("--instances-may-be-created", *words, entry=entry)
    assert ended.exit_code == 64
    assert said in ended.stderr
