"""Routes of operations: listed, shown, followed, cancelled, let go."""

import asyncio
import json
from dataclasses import replace

from provisioner.servers.operation import Status
from tests.asgi import Reply, call
from tests.unit.service.operators import code_of


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


def test_a_release_that_waits_is_let_go_by_an_operator(service):
    identifier = service.begin()
    target = f"/v1/operations/{identifier}/release"
    assert service.ask("POST", target, uid=2).status == 403
    assert service.ask("POST", f"{target}?dry_run=true", uid=1).json()["dry_run"] is True
    assert service.ask("POST", target, uid=1).json()["operation"] == identifier
    asked = [(what, dry) for _, what, dry in service.desk.asked[1:]]
    assert asked == [(("release", identifier), True), (("release", identifier), False)]
