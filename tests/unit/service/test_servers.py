"""Routes of servers: listed, shown, enrolled, acted on."""

from dataclasses import replace

import pytest

from provisioner.operations.desk import (
    Adopt,
    EndMaintenance,
    Inspect,
    Maintain,
    Provide,
    Quarantine,
    Rebaseline,
    Retire,
    Verify,
)
from provisioner.servers.model import Pool
from provisioner.store.codec import plain
from provisioner.units import (
    InstanceId,
    PoolName,
    ServerName,
    SiteName,
)
from tests.unit.service.operators import ENTRY, INSTANCE, code_of


def test_servers_are_listed_without_what_is_long(service):
    found = service.ask("GET", "/v1/servers", uid=2).json()
    assert found["version"] == 1
    assert [(s["name"], s["state"]) for s in found["servers"]] == [("bios1", "ENROLLED")]
    assert "baseline" not in found["servers"][0]


def test_a_filter_leaves_others_out(service):
    assert service.ask("GET", "/v1/servers?state=ACTIVE").json()["servers"] == []
    for name in (PoolName("a"), PoolName("b")):
        service.desk.pool_map[name] = Pool(name=name, images={})
    assert service.ask("GET", "/v1/servers?pool=b").json()["servers"] == []
    assert len(service.ask("GET", "/v1/servers?pool=a&state=ENROLLED").json()["servers"]) == 1


def test_a_server_is_shown_whole(service):
    found = service.ask("GET", "/v1/servers/bios1").json()["server"]
    assert found["nics"][0]["roles"] == ["provisioning", "tenant"]
    assert found["controller"]["port"] == 623


def test_enrolment_hands_entry_and_password_to_the_desk(service):
    body = {"server": plain(replace(ENTRY, name="bios2")), "password": "s3cret"}
    reply = service.ask("POST", "/v1/servers", body, uid=1)
    assert reply.json()["text"] == "verify of bios2 began"
    assert service.desk.passwords[ServerName("bios2")].reveal() == "s3cret"
    who, what, _ = service.desk.asked[0]
    assert who == "operator olga (uid 1)"
    assert what.controller.password_file is None
    assert "s3cret" not in reply.text


def test_a_wrong_enrolment_names_everything_and_no_password(service):
    body = {"server": {"name": "A", "colour": 1}, "password": 7, "x": "hunter2"}
    reply = service.ask("POST", "/v1/servers", body)
    assert (reply.status, code_of(reply)) == (400, "PAYLOAD_FIELD")
    for path in ("server.name:", "server.colour:", "server.pool: missing", "password:", "x:"):
        assert path in reply.json()["error"]["brief"]
    assert "hunter2" not in reply.text


@pytest.mark.parametrize(
    ("method", "word", "body", "act"),
    [
        ("POST", "verify", None, Verify()),
        ("POST", "inspect", {}, Inspect()),
        ("POST", "provide", {"erase": ["D1"]}, Provide(erase=("D1",))),
        ("POST", "provide", None, Provide()),
        ("POST", "rebaseline", {"reason": "a disk"}, Rebaseline(reason="a disk")),
        (
            "POST",
            "rebaseline",
            {"reason": "a disk", "erase": ["D1"]},
            Rebaseline(reason="a disk", erase=("D1",)),
        ),
        (
            "POST",
            "adopt",
            {"site": "lab", "instance": INSTANCE},
            Adopt(site=SiteName("lab"), instance=InstanceId(INSTANCE)),
        ),
        ("POST", "maintenance", {"reason": "new fan"}, Maintain(reason="new fan")),
        ("DELETE", "maintenance", None, EndMaintenance()),
        ("POST", "quarantine", {"reason": "smells"}, Quarantine(reason="smells")),
        ("POST", "retire", {"reason": "old age"}, Retire(reason="old age")),
    ],
)
def test_each_act_reaches_the_desk_with_its_operator(service, method, word, body, act):
    reply = service.ask(method, f"/v1/servers/bios1/{word}", body)
    assert reply.status == 200
    assert service.desk.asked == [("operator root (uid 0)", act, False)]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"site": "lab"},
        {"instance": INSTANCE},
        {"site": "La b", "instance": INSTANCE},
        {"site": "lab", "instance": "i-2-7-VM"},
        {"site": "lab", "instance": INSTANCE.upper()},
    ],
)
def test_an_adoption_names_a_site_and_a_uuid(service, body):
    reply = service.ask("POST", "/v1/servers/bios1/adopt", body)
    assert (reply.status, code_of(reply), service.desk.asked) == (400, "PAYLOAD_FIELD", [])


def test_a_new_baseline_needs_a_reason(service):
    for body in ({}, {"reason": ""}, {"erase": ["D1"]}):
        reply = service.ask("POST", "/v1/servers/bios1/rebaseline", body)
        assert (reply.status, service.desk.asked) == (400, [])


@pytest.mark.parametrize("reason", ["", "x", "a\nb", "z" * 501, 1, None])
def test_a_reason_is_one_line_that_says_something(service, reason):
    reply = service.ask("POST", "/v1/servers/bios1/quarantine", {"reason": reason})
    assert (reply.status, service.desk.asked) == (400, [])


@pytest.mark.parametrize("reason", ["a \0 b", "half \ud800"])
def test_text_that_no_database_takes_is_refused(service, reason):
    reply = service.ask("POST", "/v1/servers/bios1/quarantine", {"reason": reason})
    assert (reply.status, code_of(reply)) == (400, "PAYLOAD_MALFORMED")


def test_a_dry_run_answers_the_plan_and_opens_nothing(service):
    found = service.ask("POST", "/v1/servers/bios1/provide?dry_run=true").json()
    assert (found["dry_run"], found["operation"]) == (True, None)
    assert found["steps"][0]["calls"][1] == {"door": "controller", "text": "power off"}
    assert service.desk.running == {}
