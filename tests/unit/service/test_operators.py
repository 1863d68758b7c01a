import asyncio
import json
import re
from dataclasses import replace

import pytest

from provisioner.config import OperatorUid, Role
from provisioner.errors import ConflictError, ErrorCode, InputError, OperatorError, TransientError
from provisioner.operations.desk import (
    Adopt,
    EndMaintenance,
    Inspect,
    JournalCall,
    Maintain,
    Provide,
    Quarantine,
    Readiness,
    Rebaseline,
    Retire,
    Verify,
)
from provisioner.ports.catalogue import ImageRecord
from provisioner.ports.journal import AuditEntry
from provisioner.servers.manifest import parse_manifest
from provisioner.servers.model import Pool, State
from provisioner.servers.operation import Status
from provisioner.servers.turns import Turn
from provisioner.service.identity import ByPeer, ByToken
from provisioner.service.metrics import Metrics
from provisioner.service.operators import operator_app, operator_table
from provisioner.service.tokens import new_token
from provisioner.store.codec import plain
from provisioner.testing.clock import FakeClock
from provisioner.testing.desk import MemoryDesk
from provisioner.units import (
    ImageName,
    InstanceId,
    OperationId,
    PoolName,
    ServerName,
    SiteName,
    WallSeconds,
)
from tests.asgi import Reply, call

INSTANCE = "aaaaaaaa-0000-4000-8000-000000000007"
UIDS = {
    0: OperatorUid(uid=0, name="root", role=Role.ADMIN),
    1: OperatorUid(uid=1, name="olga", role=Role.OPERATOR),
    2: OperatorUid(uid=2, name="vera", role=Role.VIEWER),
}
MANIFEST = """
version: 1
servers:
  - name: bios1
    pool: a
    controller: {protocol: ipmi, address: 10.66.0.11, user: admin, password_file: /p}
    firmware: bios
    nics: [{mac: "52:54:00:aa:00:01", roles: [provisioning, tenant], port: tap-bios1}]
    root_disk: {serial: D1}
"""
ENTRY = parse_manifest(MANIFEST, source="m").servers[0]
IMAGE = {
    "root": "ab" * 32,
    "image_bytes": 1,
    "data_bytes": 1,
    "block_bytes": 4194304,
    "logical_sector_bytes": 512,
    "source_format": "raw",
    "imported_at": 1.0,
    "folder": "/blobs/images/tiny",
}


class Service:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.desk = MemoryDesk(clock=self.clock)
        self.desk.kept[ServerName("bios1")] = ENTRY.record(WallSeconds(1.0))
        self.stopping = False
        self.table = operator_table(
            self.desk.desk(),
            clock=self.clock,
            metrics=Metrics(),
            stopping=lambda: self.stopping,
        )
        self.app = operator_app(self.table, ByPeer(UIDS))

    def ask(self, method: str, target: str, body: object = None, uid: int = 0) -> Reply:
        raw = b"" if body is None else json.dumps(body).encode()
        return asyncio.run(call(self.app, method, target, raw, state={"peer_uid": uid}))

    def begin(self) -> OperationId:
        reply = self.ask("POST", "/v1/servers/bios1/inspect")
        return OperationId(reply.json()["operation"])


@pytest.fixture
def service() -> Service:
    return Service()


def code_of(reply: Reply) -> str:
    return reply.json()["error"]["code"]


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


def test_what_is_not_there_is_404_with_its_code(service):
    for target, code in (
        ("/v1/servers/x", "SERVER_UNKNOWN"),
        ("/v1/operations/x", "OPERATION_UNKNOWN"),
        ("/v1/operations/x/events", "OPERATION_UNKNOWN"),
        ("/v1/pools/x", "POOL_UNKNOWN"),
        ("/v1/images/x", "IMAGE_UNKNOWN"),
        ("/v1/servers?pool=x", "POOL_UNKNOWN"),
        ("/v1/operations?server=x", "SERVER_UNKNOWN"),
        ("/v1/calls?server=x", "SERVER_UNKNOWN"),
        ("/v1/audit?server=x", "SERVER_UNKNOWN"),
        ("/v1/servers/", "ROUTE_UNKNOWN"),
        ("/v1/servers/bios1/", "ROUTE_UNKNOWN"),
        ("/nothing", "ROUTE_UNKNOWN"),
    ):
        reply = service.ask("GET", target)
        assert (reply.status, code_of(reply)) == (404, code)


def test_a_method_that_is_not_there_is_405_in_the_same_model(service):
    reply = service.ask("DELETE", "/v1/servers")
    assert (reply.status, code_of(reply)) == (405, "ROUTE_UNKNOWN")


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


@pytest.mark.parametrize(
    "query", ["dry_run=yes", "dry_run", "colour=1", "dry_run=true&dry_run=true"]
)
def test_a_query_that_is_not_understood_is_refused_and_nothing_is_done(service, query):
    reply = service.ask("POST", f"/v1/servers/bios1/inspect?{query}")
    assert (reply.status, service.desk.asked) == (400, [])


@pytest.mark.parametrize(
    ("uid", "method", "target", "status"),
    [
        (2, "GET", "/v1/servers", 200),
        (2, "POST", "/v1/servers/bios1/inspect", 403),
        (1, "POST", "/v1/servers/bios1/inspect", 200),
        (1, "POST", "/v1/servers/bios1/retire", 403),
        (1, "PUT", "/v1/pools/a", 403),
        (1, "PUT", "/v1/images/tiny", 403),
        (9, "GET", "/v1/servers", 403),
        (9, "GET", "/metrics", 403),
        (9, "GET", "/v1/openapi.json", 403),
        (9, "GET", "/v1/health", 200),
    ],
)
def test_roles_decide(service, uid, method, target, status):
    assert service.ask(method, target, uid=uid).status == status


def test_every_changing_route_needs_more_than_a_viewer(service):
    for route in service.table:
        if route.method != "GET":
            assert route.role in {Role.OPERATOR, Role.ADMIN}, route.path


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        (InputError(ErrorCode.USAGE, "b"), 400, "input"),
        (ConflictError(ErrorCode.STATE_CONFLICT, "b"), 409, "conflict"),
        (OperatorError(ErrorCode.CANNOT_TELL, "b", "d"), 500, "operator"),
        (TransientError(ErrorCode.DATABASE_BUSY, "b"), 503, "transient"),
        (ConflictError(ErrorCode.SERVICE_HELD, "b"), 503, "operator"),
        (OperatorError(ErrorCode.FILE_UNREADABLE, "b"), 400, "input"),
    ],
)
def test_each_code_has_its_status_and_kind_whatever_its_class(service, error, status, kind):
    service.desk.refuse = error
    reply = service.ask("POST", "/v1/servers/bios1/inspect")
    assert reply.status == status
    assert reply.json()["error"]["kind"] == kind
    assert reply.json()["error"].get("detail") == (error.detail or None)


def test_operations_are_listed_shown_cancelled_and_retried(service):
    first = service.begin()
    assert service.ask("GET", "/v1/operations?open=true").json()["operations"][0]["id"] == first
    shown = service.ask("GET", f"/v1/operations/{first}").json()["operation"]
    assert [stage["name"] for stage in shown["stages"]] == ["off", "wipe"]
    assert service.ask("POST", f"/v1/operations/{first}/cancel?dry_run=true").status == 200
    assert service.desk.running[first].status is Status.OPEN
    assert service.ask("POST", f"/v1/operations/{first}/cancel").status == 200
    assert service.ask("GET", "/v1/operations?open=true").json()["operations"] == []
    again = service.ask("POST", f"/v1/operations/{first}/cancel")
    assert (again.status, code_of(again)) == (409, "OPERATION_ENDED")
    assert service.ask("POST", f"/v1/operations/{first}/retry").json()["operation"] != first
    assert len(service.ask("GET", "/v1/operations?most=1").json()["operations"]) == 1


def test_a_bundle_comes_as_it_is(service):
    reply = service.ask("GET", f"/v1/operations/{service.begin()}/bundle")
    assert (reply.headers["content-type"], reply.body) == ("application/gzip", b"\x1f\x8bbundle")
    assert service.ask("GET", "/v1/operations/x/bundle", uid=2).status == 403


def events(reply: Reply) -> list[dict[str, object]]:
    lines = [line for line in reply.text.split("\n\n") if line.startswith("data: ")]
    return [json.loads(line.removeprefix("data: "))["operation"] for line in lines]


def test_a_follower_hears_each_change_and_the_end(service):
    identifier = service.begin()

    async def follow() -> Reply:
        target = f"/v1/operations/{identifier}/events"
        following = asyncio.ensure_future(call(service.app, "GET", target, state={"peer_uid": 0}))
        await service.clock.sleep(3.2)
        record = service.desk.running[identifier]
        service.desk.running[identifier] = replace(record, note="half", progress_bytes=(1, 2))
        await service.clock.sleep(40.2)
        service.desk.finish(identifier)
        return await following

    reply = asyncio.run(follow())
    heard = events(reply)
    assert [(e["note"], e["status"]) for e in heard] == [
        ("", "open"),
        ("half", "open"),
        ("half", "done"),
    ]
    assert ": still here" in reply.text


def test_a_follower_is_let_go_when_the_service_stops(service):
    identifier = service.begin()
    service.stopping = True
    assert len(events(service.ask("GET", f"/v1/operations/{identifier}/events"))) == 1


def test_a_pool_is_put_and_shown(service):
    body = {"images": {"ubuntu-24.04-cuda": "tiny"}, "policy": {"wipe_methods": 2}}
    assert service.ask("PUT", "/v1/pools/a", body).status == 200
    assert service.ask("GET", "/v1/pools/a").json()["pool"]["policy"]["wipe_methods"] == 2
    assert service.desk.pool_map["a"].images == {"ubuntu-24.04-cuda": "tiny"}


@pytest.mark.parametrize(
    ("target", "body"),
    [
        ("/v1/pools/A_", {"images": {}}),
        ("/v1/pools/a", {"images": {"x": "../y"}}),
        ("/v1/pools/a", {"images": {}, "policy": {"wipe_class": "hope"}}),
        ("/v1/pools/a", {"images": {}, "policy": {"wipe_methods": 0}}),
        ("/v1/pools/a", {}),
        ("/v1/images/tiny", IMAGE | {"root": "x"}),
        ("/v1/images/tiny", IMAGE | {"image_bytes": 0}),
        ("/v1/images/..", IMAGE),
    ],
)
def test_a_pool_or_image_that_cannot_be_is_refused(service, target, body):
    assert service.ask("PUT", target, body).status == 400
    assert service.desk.asked == []


def test_an_image_is_remembered_and_shown(service):
    assert service.ask("PUT", "/v1/images/tiny", IMAGE).status == 200
    assert isinstance(service.desk.image_map["tiny"], ImageRecord)
    assert service.ask("GET", "/v1/images/tiny").json()["image"]["folder"] == IMAGE["folder"]
    assert len(service.ask("GET", "/v1/images").json()["images"]) == 1


def test_the_journal_of_calls_is_shown_by_server_and_time(service):
    for at, server in ((1.0, "bios1"), (2.0, "b"), (3.0, "bios1")):
        service.desk.journal.append(
            JournalCall(
                at=WallSeconds(at),
                server=ServerName(server),
                door="controller",
                text="read power",
                outcome="ok",
            )
        )
    found = service.ask("GET", "/v1/calls?server=bios1&since=2").json()["calls"]
    assert [each["at"] for each in found] == [3.0]


def test_evidence_is_shown_as_it_was_stored(service):
    service.desk.chain.append({"id": "e1", "signature": "ab"})
    assert service.ask("GET", "/v1/evidence").json()["records"] == [{"id": "e1", "signature": "ab"}]


def test_readiness_says_what_keeps_it(service):
    assert service.ask("GET", "/v1/ready").json()["ready"] is True
    service.desk.state = Readiness(held="the database is older than its marker")
    reply = service.ask("GET", "/v1/ready")
    assert (reply.status, reply.json()["readiness"]["held"][:12]) == (503, "the database")


def test_metrics_count_servers_and_breakers(service):
    service.desk.state = Readiness(breakers=(ServerName("bios1"),))
    text = service.ask("GET", "/metrics").text
    assert 'rackwright_servers{pool="a",state="ENROLLED"} 1.0' in text
    assert 'rackwright_breaker_open{server="bios1"} 1.0' in text


# state, reason -> counted as one that a person should look at now
DOUBTS = [
    (State.QUARANTINED, "smoke; possibly still running: CONTROLLER_BUSY: it hangs", 1),
    (State.QUARANTINED, "smoke; not cut off: port p1 leads to tenant 7", 1),
    (State.QUARANTINED, "smoke", 0),
    (State.RELEASING, "possibly still running: it hangs", 0),
]


@pytest.mark.parametrize(("state", "reason", "count"), DOUBTS)
def test_metrics_count_quarantines_that_are_not_sure(service, state, reason, count):
    record = service.desk.kept["bios1"]
    service.desk.kept["bios1"] = replace(record, state=state, reason=reason)
    text = service.ask("GET", "/metrics").text
    assert f'rackwright_servers_flagged{{flag="in_doubt"}} {count}.0' in text


def test_metrics_count_releases_that_wait(service):
    waiting = "rackwright_releases_waiting"
    text = service.ask("GET", "/metrics").text
    assert f'{waiting}{{pool="a",why="pace"}} 0.0' in text
    turn = Turn(
        operation=OperationId("x"),
        server=ServerName("bios1"),
        pool=PoolName("a"),
        counted=True,
        held=False,
        waits_for="pace",
    )
    service.desk.turns = [turn, turn]
    text = service.ask("GET", "/metrics").text
    assert f'{waiting}{{pool="a",why="pace"}} 2.0' in text
    assert f'{waiting}{{pool="a",why="protected"}} 0.0' in text


def test_a_release_that_waits_is_let_go_by_an_operator(service):
    identifier = service.begin()
    target = f"/v1/operations/{identifier}/release"
    assert service.ask("POST", target, uid=2).status == 403
    assert service.ask("POST", f"{target}?dry_run=true", uid=1).json()["dry_run"] is True
    assert service.ask("POST", target, uid=1).json()["operation"] == identifier
    asked = [(what, dry) for _, what, dry in service.desk.asked[1:]]
    assert asked == [(("release", identifier), True), (("release", identifier), False)]


def test_the_document_and_the_routes_are_the_same(service):
    document = service.ask("GET", "/v1/openapi.json").json()
    served = {(r.path, m) for r in service.app.routes for m in r.methods - {"HEAD"}}
    described = {(p, m.upper()) for p, each in document["paths"].items() for m in each}
    assert served == described


def test_every_route_describes_its_errors(service):
    document = service.ask("GET", "/v1/openapi.json").json()
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            errors = set(operation["responses"]) - {"200"}
            assert {"400", "500", "503"} <= errors
            for status in errors:
                content = operation["responses"][status]["content"]["application/json"]
                assert content["schema"] == {"$ref": "#/components/schemas/Error"}, (path, method)
            assert operation["summary"]


@pytest.mark.parametrize(
    ("method", "path", "beside"),
    [
        ("get", "/v1/servers/{name}", {"403", "404"}),
        ("get", "/v1/calls", {"403", "404"}),
        ("get", "/v1/pools", {"403"}),
        ("get", "/v1/openapi.json", {"403"}),
        ("post", "/v1/servers", {"403", "404", "409", "413"}),
        ("delete", "/v1/images/{name}", {"403", "404", "409"}),
    ],
)
def test_a_route_describes_only_statuses_that_it_can_answer_with(service, method, path, beside):
    document = service.ask("GET", "/v1/openapi.json").json()
    found = set(document["paths"][path][method]["responses"])
    assert found == {"200", "400", "500", "503"} | beside


def test_the_document_says_what_a_method_that_is_not_here_gets(service):
    reply = service.ask("POST", "/v1/openapi.json")
    assert (reply.status, code_of(reply)) == (405, "ROUTE_UNKNOWN")
    assert "405" in service.ask("GET", "/v1/openapi.json").json()["info"]["description"]


@pytest.mark.parametrize(
    ("query", "expected"), [("since=x", "a number"), ("most=1.5", "a whole number")]
)
def test_a_query_is_refused_in_words_that_are_not_pythons(service, query, expected):
    error = service.ask("GET", f"/v1/calls?{query}").json()["error"]
    assert error["brief"] == f"query: {query.partition('=')[0]}: {expected} is expected"


def test_every_reference_of_the_document_leads_somewhere(service):
    text = service.ask("GET", "/v1/openapi.json").text
    schemas = json.loads(text)["components"]["schemas"]
    for name in re.findall(r'"#/components/schemas/(\w+)"', text):
        assert schemas[name]
    names = [o["operationId"] for p in json.loads(text)["paths"].values() for o in p.values()]
    assert len(names) == len(set(names))


def test_every_error_is_of_the_described_model(service):
    document = service.ask("GET", "/v1/openapi.json").json()
    model = document["components"]["schemas"]["Error"]["properties"]["error"]
    for reply in (
        service.ask("GET", "/v1/servers/x"),
        service.ask("GET", "/nothing"),
        service.ask("POST", "/v1/servers", []),
    ):
        error = reply.json()["error"]
        assert set(model["required"]) <= set(error) <= set(model["properties"])
        assert error["code"] in model["properties"]["code"]["enum"]
        assert error["kind"] in model["properties"]["kind"]["enum"]


def test_a_bug_is_answered_in_the_same_model_and_raised_for_the_log(service):
    service.desk.refuse = TypeError("boom")
    with pytest.raises(TypeError):
        service.ask("POST", "/v1/servers/bios1/inspect")


def test_a_token_identifies_its_operator(service):
    token, line = new_token("ci", Role.OPERATOR, bytes(range(32)), "")
    app = operator_app(service.table, ByToken(lambda: line))

    def ask(header: str) -> Reply:
        headers = {"Authorization": header} if header else {}
        return asyncio.run(call(app, "POST", "/v1/servers/bios1/inspect", headers=headers))

    assert ask(f"Bearer {token.reveal()}").status == 200
    assert service.desk.asked[0][0] == "operator ci (token)"
    for wrong in ("", "Bearer", "Bearer x", f"Basic {token.reveal()}", "Bearer \u00e9"):
        assert ask(wrong).status == 403


def test_pools_hold_their_names(service):
    service.desk.pool_map["a"] = Pool(name=PoolName("a"), images={"tiny": ImageName("tiny")})
    assert service.ask("GET", "/v1/pools").json()["pools"][0]["name"] == "a"


# --- audit
def test_operators_see_who_did_what(service):
    for at, who, act, subject in ((1.0, "ann", "retire", "bios1"), (2.0, "ben", "put pool", "a")):
        entry = AuditEntry(at=WallSeconds(at), who=who, act=act, subject=subject)
        service.desk.acts.append(entry)
    found = service.ask("GET", "/v1/audit", uid=1).json()
    assert (found["version"], [each["who"] for each in found["acts"]]) == (1, ["ben", "ann"])
    for query in ("server=bios1", "most=1&server=bios1", "since=0.5&server=bios1"):
        (one,) = service.ask("GET", f"/v1/audit?{query}").json()["acts"]
        assert one["act"] == "retire"
    assert service.ask("GET", "/v1/audit?since=3").json()["acts"] == []
    assert code_of(service.ask("GET", "/v1/audit", uid=2)) == "PERMISSION"
