import asyncio
import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from provisioner.boot.token import digest
from provisioner.secret import Secret
from provisioner.servers.operation import AgentOrder, Boot
from provisioner.service.agent_api import AgentApi
from provisioner.testing.boots import MemoryBoots
from provisioner.testing.clock import FakeClock
from provisioner.units import Epoch, OperationId, ServerName, WallSeconds
from tests.asgi import Reply, call

OPERATION = OperationId("11111111-1111-4111-8111-111111111111")
TOKEN = "ab" * 32
FACTS = {
    "system": {"uuid": "u", "serial": None, "manufacturer": None, "product": None},
    "firmware": {"mode": "uefi"},
    "cpu": {"vendor": None, "model": None, "sockets": 1, "threads": 2},
    "memory_bytes": 1024,
    "disks": [],
    "nics": [],
}
HELLO = {"facts": FACTS, "agent": {"version": "1", "boot_id": "b1"}}


class Rack:
    def __init__(self) -> None:
        self.store, self.clock = MemoryBoots(), FakeClock()
        self.stopping = asyncio.Event()
        self.api = AgentApi(
            boots=self.store,
            orders=self.store,
            seeds=self.store,
            operations=self.store,
            bell=self.store,
            journal=self.store,
            clock=self.clock,
            stopping=self.stopping,
        )
        self.app = self.api.app()
        self.store.open_boot(
            Boot(
                operation=OPERATION,
                server=ServerName("s1"),
                epoch=Epoch(3),
                mac="52:54:00:00:00:01",
                token_sha256=digest(Secret(TOKEN)),
                opened_at=WallSeconds(1.0),
            )
        )

    def give(self, kind: str, step: str | None = None) -> AgentOrder:
        return self.store.put_order(
            AgentOrder(
                operation=OPERATION,
                step=step or kind,
                number=0,
                epoch=Epoch(3),
                kind=kind,
                parameters={"a": 1},
            )
        )

    def ask(self, method: str, what: str, body: object = None, token: str = TOKEN) -> Reply:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode() if body else b""
        headers = {"Authorization": f"Bearer {token}"}
        target = f"/agent/v1/{what}"
        return asyncio.run(call(self.app, method, target, raw, headers=headers, client="10.66.0.9"))


@pytest.fixture
def rack() -> Rack:
    return Rack()


def result(order: AgentOrder, **changes: object) -> dict[str, object]:
    return {
        "order": order.number,
        "epoch": 3,
        "ok": True,
        "error": None,
        "result": {"x": 1},
    } | changes


def test_hello_is_answered_with_the_operation_and_kept(rack):
    reply = rack.ask("POST", "hello", HELLO)
    assert reply.json() == {"operation": OPERATION, "epoch": 3, "server": "s1"}
    hello = rack.store.order(OPERATION, "hello")
    assert hello.ok
    assert hello.result["facts"]["memory_bytes"] == 1024
    assert rack.store.boots[0].called_in_at == rack.clock.wall()
    assert rack.store.rung == [(OPERATION, "agent")]


def test_hello_again_from_the_same_boot_is_answered_again(rack):
    rack.ask("POST", "hello", HELLO)
    assert rack.ask("POST", "hello", HELLO).status == 200


def test_hello_from_another_boot_with_the_same_token_is_an_alarm(rack):
    rack.ask("POST", "hello", HELLO)
    other = HELLO | {"agent": {"version": "1", "boot_id": "b2"}}
    assert rack.ask("POST", "hello", other).status == 403
    assert rack.store.rung[-1] == (OPERATION, "alarm:token")


def test_wrong_facts_are_refused_with_their_path(rack):
    reply = rack.ask("POST", "hello", HELLO | {"facts": FACTS | {"memory_bytes": "much"}})
    assert reply.status == 400
    assert reply.json()["error"]["brief"] == "facts.memory_bytes: int is expected"
    assert rack.store.rung == []


@pytest.mark.parametrize("token", ["", "x", "00" * 32])
@pytest.mark.parametrize(
    ("method", "what"),
    [
        ("POST", "hello"),
        ("GET", "order?after=0"),
        ("POST", "progress"),
        ("POST", "result"),
        ("POST", "journal"),
        ("GET", "seed"),
    ],
)
def test_without_the_boots_token_nothing_is_answered(rack, method, what, token):
    reply = rack.ask(method, what, HELLO if method == "POST" else None, token=token)
    assert reply.status == 403
    assert reply.json()["error"]["code"] == "TOKEN_REFUSED"


def test_a_closed_boot_is_refused(rack):
    rack.store.change_boot(OPERATION, closed_at=WallSeconds(2.0))
    assert rack.ask("GET", "order?after=0").status == 403


def test_an_order_is_told_as_it_was_given(rack):
    rack.give("inspect")
    assert rack.ask("GET", "order?after=0").json() == {
        "order": 1,
        "epoch": 3,
        "kind": "inspect",
        "parameters": {"a": 1},
    }


def test_the_hello_that_nobody_answered_is_no_order(rack):
    rack.give("hello")
    assert rack.ask("GET", "order?after=0").status == 204


def test_a_poll_without_an_order_ends_after_its_time(rack):
    before = rack.clock.monotonic()
    assert rack.ask("GET", "order?after=0").status == 204
    assert 20 <= rack.clock.monotonic() - before < 22


def test_a_poll_ends_at_once_when_the_service_stops(rack):
    rack.stopping.set()
    before = rack.clock.monotonic()
    assert rack.ask("GET", "order").status == 204
    assert rack.clock.monotonic() == before


@pytest.mark.parametrize("after", ["", "-1", "x", "9" * 30, "\u0662"])
def test_a_poll_behind_no_number_is_refused(rack, after):
    assert rack.ask("GET", f"order?after={after}").status == 400


def test_a_result_is_kept_once_and_rings(rack):
    order = rack.give("inspect")
    assert rack.ask("POST", "result", result(order)).status == 204
    assert rack.ask("POST", "result", result(order, result={"x": 2})).status == 204
    assert rack.store.order(OPERATION, "inspect").result == {"x": 1}
    assert rack.store.rung == [(OPERATION, "result:inspect")]


def test_a_failure_is_kept_with_its_code_and_printable_text(rack):
    order = rack.give("erase")
    error = {"code": "DISK_FROZEN", "text": "sda\x1b[31m"}
    rack.ask("POST", "result", result(order, ok=False, error=error, result={}))
    kept = rack.store.order(OPERATION, "erase")
    assert (kept.ok, kept.error_code, kept.error_text) == (False, "DISK_FROZEN", "sda\ufffd[31m")


def test_a_result_of_another_epoch_is_a_conflict(rack):
    order = rack.give("erase")
    reply = rack.ask("POST", "result", result(order, epoch=2))
    assert reply.status == 409
    assert reply.json()["error"]["code"] == "EPOCH_DIFFERS"
    assert rack.store.order(OPERATION, "erase").ok is None


def test_progress_of_all_disks_is_summed_up_and_told_once_a_second(rack):
    for disk, done in (("/dev/sda", 10), ("/dev/sdb", 20)):
        body = {"order": 1, "epoch": 3, "disk": disk, "done_bytes": done, "total_bytes": 100}
        assert rack.ask("POST", "progress", body).status == 204
    assert [note[2] for note in rack.store.notes] == [(10, 100)]
    rack.clock.advance(1.0)
    body = {"order": 1, "epoch": 3, "disk": "/dev/sdb", "done_bytes": 30, "total_bytes": 100}
    rack.ask("POST", "progress", body | {"note": "erasing\n\x07"})
    assert rack.store.notes[-1] == (OPERATION, "erasing\ufffd\ufffd", (40, 200))


def test_the_last_progress_is_always_told(rack):
    for done in (10, 100):
        body = {"order": 1, "epoch": 3, "disk": None, "done_bytes": done, "total_bytes": 100}
        rack.ask("POST", "progress", body)
    assert rack.store.notes[-1][2] == (100, 100)


def test_the_seed_is_had_only_between_its_order_and_its_result(rack):
    rack.store.put_seed(OPERATION, b"seed")
    assert rack.ask("GET", "seed").status == 403
    order = rack.give("write_seed")
    assert rack.ask("GET", "seed").body == b"seed"
    rack.ask("POST", "result", result(order))
    assert rack.ask("GET", "seed").status == 403
    assert rack.store.images == {}


def test_a_seed_order_behind_an_unanswered_one_opens_nothing(rack):
    rack.store.put_seed(OPERATION, b"seed")
    rack.give("write_image")
    rack.give("write_seed")
    assert rack.ask("GET", "seed").status == 403


def test_journal_lines_are_kept_printable(rack):
    assert rack.ask("POST", "journal", {"lines": ["a\tb", "\x1b]0;x\x07"]}).status == 204
    assert rack.store.lines == ["a\ufffdb", "\ufffd]0;x\ufffd"]


@pytest.mark.parametrize(
    ("what", "size"), [("hello", 1024 * 1024), ("result", 1024 * 1024), ("journal", 64 * 1024)]
)
def test_a_body_beyond_its_bound_is_refused(rack, what, size):
    reply = rack.ask("POST", what, b" " * (size + 1))
    assert reply.status == 413


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"\xff",
        b"[" * 100_000,
        b'{"a":' * 40 + b"1" + b"}" * 40,
        b'{"a": NaN}',
    ],
)
def test_json_that_could_hurt_is_refused(rack, body):
    reply = rack.ask("POST", "hello", body)
    assert (reply.status, reply.json()["error"]["code"]) == (400, "PAYLOAD_MALFORMED")


def test_text_that_no_database_takes_is_mended_not_lost(rack):
    order = rack.give("erase")
    raw = json.dumps(result(order, result={"log\0": "S/N \0\ud800 x"})).encode()
    assert rack.ask("POST", "result", raw).status == 204
    kept = rack.store.order(OPERATION, "erase").result
    assert kept == {"log\ufffd": "S/N \ufffd\ufffd x"}


def test_a_source_that_asks_too_often_is_slowed_down(rack):
    answers = [rack.ask("POST", "hello", b"{}").status for _ in range(210)]
    assert answers.count(503) == 10
    rack.clock.advance(1.0)
    assert rack.ask("POST", "hello", b"{}").status == 400


trees = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=10,
)
fields = st.dictionaries(
    st.sampled_from(["order", "epoch", "ok", "error", "result", "facts", "agent", "lines"]), trees
)


@settings(max_examples=40)
@given(st.sampled_from(["hello", "progress", "result", "journal"]), trees | fields)
def test_no_body_gives_anything_but_an_answer(what, tree):
    rack = Rack()
    rack.give("inspect")
    assert rack.ask("POST", what, json.dumps(tree).encode()).status in {204, 400, 409}


def test_a_boot_without_an_open_operation_is_not_found(rack):
    rack.store.boots[0] = replace(rack.store.boots[0], token_sha256="")
    assert rack.ask("POST", "hello", HELLO).status == 403
