"""Who did what, as the service wrote it down and shows it."""

import os

import pytest

from cloudstack_ext.lab.instances import instance_of
from tests.service.entry.rig import HTTPS, SOCKET

pytestmark = pytest.mark.emulated


@pytest.mark.parametrize(
    ("way", "by"), [(SOCKET, f"uid {os.getuid()}"), (HTTPS, "entry lab")], ids=[SOCKET, HTTPS]
)
def test_operators_and_management_servers_stand_in_the_audit(site, way, by):
    site.by(way)
    site.start()
    assert site.call("prepare", "one").exit == 0
    assert site.call("status", "one").exit == 0
    assert site.call("start", "one").code == "INSTANCE_BUSY"
    ended = site.command("server", "maintenance", "s1", "--reason", "a fan")
    assert ended.returncode == 0, ended.stderr
    found = site.client.ask("GET", "/v1/audit?server=s1&most=3")["acts"]
    uid = os.getuid()
    assert found[0].items() >= {"act": "maintenance", "who": f"operator lab (uid {uid})"}.items()
    assert [each["subject"] for each in found] == ["s1", *[instance_of("one").uuid] * 2]
    assert [(each["act"], each["detail"]) for each in found[1:]] == [
        ("verb start", "INSTANCE_BUSY"),
        ("verb prepare", "ok"),
    ]
    assert {each["who"].partition(":")[0] for each in found[1:]} == {"lab"}
    assert all(each["who"].endswith(f", {by}") for each in found[1:])
    ended = site.command("audit", "list", "--server", "s1")
    assert "a fan" in ended.stdout or "maintenance" in ended.stdout
