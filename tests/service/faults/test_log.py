"""What the service writes to its log: objects alone, and each says what it concerns."""

import json
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest

from cloudstack_ext.lab.instances import instance_of

pytestmark = pytest.mark.emulated


def lines_of(site):
    """Every line as an object; one that is none fails here."""
    return [json.loads(line) for line in site.log().splitlines()]


def instance(name):
    return instance_of(name).uuid


def about(lines, beginning):
    found = [line for line in lines if line["text"].startswith(beginning)]
    assert found, beginning
    return found


def test_every_line_is_an_object_and_says_what_it_concerns(site):
    site.start()
    held = site.rack.log.hold("s1 agent write_image")
    with ThreadPoolExecutor(1) as pool:
        create = pool.submit(site.call, "create", "one")
        held.wait()
        site.process.send_signal(signal.SIGTERM)  # in the middle of a step
        assert site.process.wait(20) == 0
        held.let_go()
        site.start()
        assert create.result().exit == 0
    assert site.call("start", "nobody").code == "INSTANCE_UNKNOWN"
    assert site.call("status", "one").exit == 0
    assert site.call("delete", "one").exit == 0
    site.until_state("s1", "AVAILABLE")
    site.stop()

    lines = lines_of(site)
    assert {line["site"] for line in lines} == {"lab"}
    assert not [line for line in lines if "for development" in line["text"]]
    ((deploy, epoch),) = site.rows("SELECT id, epoch FROM operation WHERE kind = 'deploy'")
    one = {"server": "s1", "instance": instance("one")}
    for line in about(lines, "step write-image"):
        assert line.items() >= {**one, "operation": deploy, "epoch": epoch}.items(), line
    (created,) = about(lines, "verb create")
    assert created.items() >= {**one, "operation": deploy, "epoch": epoch}.items()
    (deleted,) = about(lines, "verb delete")
    assert deleted.items() >= one.items()
    assert deleted["operation"] != deploy
    assert about(lines, "verb status")[0].items() >= one.items()
    (refused,) = about(lines, "verb start")
    assert refused["code"] == "INSTANCE_UNKNOWN"
    assert refused["instance"] == instance("nobody")
    assert "server" not in refused
    for line in about(lines, "step "):
        assert line.keys() >= {"server", "operation", "epoch"}, line
