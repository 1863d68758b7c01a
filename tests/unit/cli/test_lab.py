"""The lab: what it shows, and the payloads it prints."""

import json

from tests.unit.cli.rig import LAB


def test_the_lab_is_shown_for_people_and_programs(rig):
    assert "bios1" in rig.run("lab", "status").stdout
    assert rig.json("lab", "status") == LAB
    assert rig.run("lab", "up").stderr == "network\n"
    assert rig.json("lab", "up") == LAB
    assert rig.json("lab", "down") == {"version": 1, "running": False}


def test_the_api_server_of_the_lab_is_told_which_call_to_cut(rig):
    asked = rig.json("lab", "cloudstack", "up", "--fail-call", "3", "--when", "after")
    assert asked["given"] == ["3", "after"]
    assert rig.json("lab", "cloudstack", "up")["given"] == ["None", "before"]
    assert rig.run("lab", "cloudstack", "up", "--fail-call", "0").exit_code == 64
    assert rig.json("lab", "cloudstack", "status") == {"version": 1, "running": False}
    assert rig.json("lab", "cloudstack", "down") == {"version": 1, "running": False}


def test_the_payload_of_a_verb_is_printed(rig):
    done = rig.run("lab", "payload", "create", "i1", "--image", "tiny", "--ssh-key", "/k")
    assert json.loads(done.stdout) == ["create", "i1", "tiny", "/k", "None"]
