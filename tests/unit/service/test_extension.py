import asyncio
import json
import re

import pytest

from provisioner.errors import RackwrightError
from provisioner.service.callers import Caller, CallerByUid
from provisioner.service.extension import MOST_BYTES, Extension
from provisioner.service.metrics import Metrics
from provisioner.testing.clock import FakeClock
from provisioner.units import SiteName
from tests.asgi import Reply, call


class Service:
    def __init__(self) -> None:
        self.asked: list[tuple[str, bytes, str, Caller]] = []
        self.stopping = asyncio.Event()
        self.release = asyncio.Event()
        self.release.set()
        self.cancelled = False
        self.line, self.exit, self.metrics = '{"status":"success"}', 0, Metrics()
        self.app = Extension(
            answer=self.answer,
            refuse=self.refuse,
            caller_of=CallerByUid({7: SiteName("lab")}),
            names=frozenset({"create", "power-cycle"}),
            clock=FakeClock(),
            metrics=self.metrics,
            stopping=self.stopping,
        ).app()

    async def answer(self, verb: str, payload: bytes, wait: str, caller: Caller) -> tuple[str, int]:
        self.asked.append((verb, payload, wait, caller))
        try:
            await self.release.wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        return self.line, self.exit

    def counted(self) -> set[tuple[str, str]]:
        """Verb and exit of each series of the metric."""
        text = self.metrics.text((), ()).decode()
        found = re.findall(r'rackwright_verb_seconds_count{exit="(.)",verb="([^"]*)"}', text)
        return {(verb, status) for status, verb in found}

    def refuse(self, error: RackwrightError) -> tuple[str, int]:
        return json.dumps({"status": "error", "error": str(error)}), 1

    def ask(self, target: str, body=b"{}", uid: int | None = 7, method: str = "POST") -> Reply:
        state = {} if uid is None else {"peer_uid": uid}
        return asyncio.run(call(self.app, method, target, body, state=state))


GOOD = "/v1/verbs?verb=create&wait=1800"


@pytest.fixture
def service() -> Service:
    return Service()


def test_a_verb_is_answered_with_its_line_and_exit_status(service):
    reply = service.ask(GOOD, b"payload")
    assert (reply.status, reply.text) == (200, '{"status":"success"}')
    assert reply.headers["rackwright-exit"] == "0"
    assert reply.headers["content-length"] == str(len(reply.body))
    assert service.asked == [("create", b"payload", "1800", Caller(SiteName("lab"), "uid 7"))]


def test_a_verb_is_decoded_and_passed_on_whatever_it_is(service):
    service.ask("/v1/verbs?verb=do%20it%26&wait=x")
    assert service.asked[0][::2] == ("do it&", "x")


def test_what_is_counted_has_a_name_of_ours_or_none(service):
    """A custom action's name in argv[1] is the administrator's, and its payload alone counts."""
    for status in (0, 1):
        service.exit = status
        for verb in ("create", "power-cycle", "my-own", "x%22%7D%0Ay", "Create", "failed"):
            service.ask(f"/v1/verbs?verb={verb}&wait=1800")
    known = {"create", "power-cycle", "unknown"}
    assert service.counted() == {(verb, status) for verb in known for status in "01"}


@pytest.mark.parametrize("uid", [0, 8, None])
def test_whoever_speaks_for_no_site_is_refused(service, uid):
    reply = service.ask(GOOD, uid=uid)
    assert (reply.status, reply.headers["rackwright-exit"]) == (403, "1")
    assert "PERMISSION" in reply.json()["error"]
    assert service.asked == []


@pytest.mark.parametrize(
    "target",
    [
        "/v1/verbs",
        "/v1/verbs?verb=create",
        "/v1/verbs?wait=1",
        "/v1/verbs?verb=&wait=1",
        "/v1/verbs?verb=a&verb=b&wait=1",
    ],
)
def test_a_query_without_verb_and_wait_is_refused(service, target):
    reply = service.ask(target)
    assert (reply.status, reply.headers["rackwright-exit"]) == (400, "1")
    assert service.asked == []


def test_the_largest_payload_is_taken_and_one_byte_more_is_not(service):
    assert service.ask(GOOD, [b"x" * 65536] * (MOST_BYTES // 65536)).status == 200
    reply = service.ask(GOOD, [b"x" * 65536] * (MOST_BYTES // 65536) + [b"x"])
    assert (reply.status, reply.headers["rackwright-exit"]) == (413, "1")
    assert len(service.asked) == 1


def test_an_endless_payload_is_not_read_to_its_end(service):
    def endless():
        for _ in range(1000):
            yield b"x" * 65536
        pytest.fail("read on and on")

    assert service.ask(GOOD, endless()).status == 413


def test_a_stopping_service_lets_go_so_that_the_entry_asks_again(service):
    async def stop() -> Reply:
        service.release.clear()
        asking = asyncio.ensure_future(call(service.app, "POST", GOOD, state={"peer_uid": 7}))
        await asyncio.sleep(0.01)
        service.stopping.set()
        return await asking

    reply = asyncio.run(stop())
    assert reply.status == 503
    assert "rackwright-exit" not in reply.headers
    assert service.cancelled


@pytest.mark.parametrize(
    ("method", "target"), [("GET", GOOD), ("POST", "/v1/servers"), ("GET", "/metrics")]
)
def test_nothing_else_answers_here(service, method, target):
    assert service.ask(target, method=method).status in {404, 405}
    assert service.asked == []
