"""`rackwright lab cloudstack`: a process that stays, with a key of its own, until it is ended."""

import json
from pathlib import Path

import pytest
import requests
from click.testing import CliRunner
from cs import CloudStack

from cloudstack_ext.lab.cloudstack import LabCloudStack
from cloudstack_ext.main import callbacks
from provisioner.cli.group import make_cli

pytestmark = pytest.mark.emulated


@pytest.fixture
def lab(tmp_path):
    made = LabCloudStack.of({"XDG_CACHE_HOME": str(tmp_path)})
    yield made
    made.down()


def api_of(found):
    return CloudStack(found["endpoint"], found["key"], found["secret"], method="post", timeout=5)


def test_it_stays_and_is_found_again_until_down(lab):
    first = lab.up(None, "before")
    assert set(first) == {"version", "endpoint", "key", "secret", "calls"}
    assert api_of(first).listZones()["count"] == 1
    assert lab.up(None, "before") == first
    assert lab.status() == {"running": True, **first}
    assert (lab.folder / "ready.json").stat().st_mode & 0o777 == 0o600
    lab.down()
    lab.down()
    assert lab.status()["running"] is False
    assert lab.status()["secret"] is None
    with pytest.raises(requests.ConnectionError):
        api_of(first).listZones()


def test_it_cuts_the_call_that_it_is_told_to_and_its_log_says_what_was_done(lab):
    found = lab.up(2, "after")
    api = api_of(found)
    api.listZones()
    with pytest.raises(requests.ConnectionError):
        api.createExtension(name="metal", type="Orchestrator")
    assert api.listExtensions()["count"] == 1
    lines = [json.loads(line) for line in Path(found["calls"]).read_text().splitlines()]
    assert [(each["command"], each["outcome"], each["acted"]) for each in lines] == [
        ("listZones", "answered", True),
        ("createExtension", "cut after", True),
        ("listExtensions", "answered", True),
    ]


def test_other_options_start_another_one_with_nothing_in_it(lab):
    first = lab.up(None, "before")
    api_of(first).createExtension(name="metal", type="Orchestrator")
    second = lab.up(9, "before")
    assert second["key"] != first["key"]
    assert api_of(second).listExtensions() == {}
    assert len(Path(second["calls"]).read_text().splitlines()) == 1


def test_the_command_shows_it_to_people_and_programs(lab, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def run(*words):
        return CliRunner().invoke(make_cli(callbacks()), ["lab", "cloudstack", *words])

    asked = json.loads(run("up", "--fail-call", "2", "--output", "json").stdout)
    assert asked == lab.up(2, "before")
    assert asked["endpoint"] in run("status").stdout
    assert json.loads(run("status", "--output", "json").stdout) == {"running": True, **asked}
    assert run("up", "--fail-call", "0").exit_code == 64
    assert run("up", "--fail-call", "2", "--when", "soon").exit_code == 64
    down = run("down", "--output", "json")
    assert json.loads(down.stdout) == {"version": 1, "running": False}
    assert lab.status()["running"] is False


def test_what_was_never_started_is_down(lab):
    assert lab.status()["running"] is False
    lab.down()
