"""The door to CloudStack's API: what is sent, what answers mean, lists that are whole."""

import asyncio
import base64
import hashlib
import hmac
import json
import socket
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, quote_plus

import pytest

from cloudstack_ext.api_key import ApiKey
from cloudstack_ext.api_server.faults import Fault, FaultKind, When
from cloudstack_ext.api_server.server import ApiServer
from cloudstack_ext.api_server.settings import ServerSettings
from cloudstack_ext.client import LIMIT_REMEDY, OVER_LIMIT, CloudStackClient, RefusalError
from provisioner.errors import ErrorCode, InputError, OperatorError, TransientError
from provisioner.secret import Secret
from provisioner.testing.clock import FakeClock

pytestmark = pytest.mark.emulated


class Answers(BaseHTTPRequestHandler):
    """Answers as told; keeps what it was asked."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        asked = dict(parse_qsl(body, keep_blank_values=True))
        self.server.asked.append(asked)
        self.server.lines.append((self.command, self.path))
        status, tree, *more = self.server.script(asked)
        headers = more[0] if more else {}
        raw = tree if isinstance(tree, bytes) else json.dumps(tree).encode()
        self.send_response_only(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_words):
        pass


@contextmanager
def serving(script):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    server.daemon_threads, server.script, server.asked, server.lines = True, script, [], []
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


SECRET = "the-secret"


def client_of(port, *, secret=SECRET, key="the-key", clock=None):
    endpoint = f"http://127.0.0.1:{port}/client/api"
    clock = clock or FakeClock(wall=time.time())
    return CloudStackClient(endpoint, ApiKey(key=key, secret=Secret(secret)), clock)


def asked(server, command, parameters=None, **more):
    client = client_of(server.server_address[1], **more)
    try:
        return asyncio.run(client.call(command, parameters))
    finally:
        client.close()


def listed(server, command, of, parameters=None):
    client = client_of(server.server_address[1])
    try:
        return asyncio.run(client.every(command, of, parameters))
    finally:
        client.close()


def always(status, tree, *more):
    return lambda _asked: (status, tree, *more)


def good(_asked):
    return 200, {"someresponse": {"count": 0}}


# --- what is sent ---------------------------------------------------------------------------
def test_a_command_is_posted_with_key_expiry_and_signature_and_nothing_in_the_address():
    with serving(good) as server:
        asked(server, "createExtension", {"name": "x y", "orchestratorrequirespreparevm": True})
    assert server.lines == [("POST", "/client/api")]
    sent = server.asked[0]
    assert sent["command"] == "createExtension"
    assert sent["name"] == "x y"
    assert sent["orchestratorrequirespreparevm"] == "true"
    assert (sent["response"], sent["apiKey"], sent["signatureVersion"]) == ("json", "the-key", "3")
    assert SECRET not in json.dumps(sent)


def _signed_by_the_statement(sent, *, names):
    """What a management server computes: names in this order, values encoded, all lower-cased.

    Source: cloudstack-seen, 3: sorted case-sensitively; percent-encoded, HMAC-SHA1, base64.
    """
    pairs = [
        f"{name}={quote_plus(sent[name], safe='*').replace('+', '%20')}"
        for name in sorted(sent, key=names)
        if name != "signature"
    ]
    digest = hmac.digest(SECRET.encode(), "&".join(pairs).lower().encode(), hashlib.sha1)
    return base64.b64encode(digest).decode()


def test_names_are_signed_sorted_as_ascii_so_that_details_with_capitals_are_accepted():
    details = {"details[0].External:x": "1", "details[0].a": "ä *-_.()!'", "details[0].Zz": "+&="}
    with serving(good) as server:
        asked(server, "updateTemplate", {"id": "i", **details})
    sent = server.asked[0]
    assert sent["signature"] == _signed_by_the_statement(sent, names=str)
    assert sent["signature"] != _signed_by_the_statement(sent, names=str.lower)


def test_the_environment_and_its_configuration_files_change_nothing(monkeypatch, tmp_path):
    ini = tmp_path / "cloudstack.ini"
    ini.write_text("[cloudstack]\nendpoint = http://127.0.0.1:9/\nkey = k\nsecret = s\n")
    monkeypatch.setenv("CLOUDSTACK_CONFIG", str(ini))
    monkeypatch.setenv("CLOUDSTACK_ENDPOINT", "http://127.0.0.1:9/")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.chdir(tmp_path)
    with serving(good) as server:
        asked(server, "listZones")
    assert server.asked[0]["apiKey"] == "the-key"


def test_a_value_whose_signature_would_be_refused_is_refused_here():
    with serving(good) as server, pytest.raises(InputError, match="name holds a ~"):
        asked(server, "createExtension", {"name": "a~b"})
    assert server.asked == []


# --- what answers mean ----------------------------------------------------------------------
def error(code, text):
    return {"errorresponse": {"errorcode": code, "errortext": text, "uuidList": []}}


@pytest.mark.parametrize(
    ("status", "text", "kind", "code"),
    [
        (401, "unable to verify user credentials", InputError, ErrorCode.CLOUDSTACK_KEY),
        (432, "does not exist or is not available", InputError, ErrorCode.CLOUDSTACK_RIGHTS),
        (431, "Invalid parameter id", OperatorError, ErrorCode.CLOUDSTACK_REFUSED),
        (430, "malformed", OperatorError, ErrorCode.CLOUDSTACK_REFUSED),
        (530, "Failed to add host", OperatorError, ErrorCode.CLOUDSTACK_REFUSED),
        (533, "No destination", OperatorError, ErrorCode.CLOUDSTACK_REFUSED),
        (535, "Maximum number", OperatorError, ErrorCode.CLOUDSTACK_REFUSED),
    ],
)
def test_a_refusal_is_one_line_with_its_code(status, text, kind, code):
    with (
        serving(always(status, error(status, f"{text}\n  of   mine"))) as server,
        pytest.raises(kind) as caught,
    ):
        asked(server, "addHost")
    assert caught.value.code is code
    assert "\n" not in caught.value.brief
    if code is ErrorCode.CLOUDSTACK_REFUSED:
        remedy = LIMIT_REMEDY if status == OVER_LIMIT else ""
        assert caught.value.brief == f"addHost: {text} of mine{remedy}"
        assert caught.value.status == status


def test_a_missing_right_names_the_rule_to_add():
    with (
        serving(always(432, error(432, "no"))) as server,
        pytest.raises(InputError, match="add the rule addHost"),
    ):
        asked(server, "addHost")


def test_an_unknown_command_is_answered_like_a_bad_key_and_told_from_it():
    def script(sent):
        return good(sent) if sent["command"] == "listZones" else (401, error(401, "unable"))

    with serving(script) as server:
        client = client_of(server.server_address[1])

        async def two():
            await client.call("listZones")
            await client.call("createExtension")

        with pytest.raises(InputError, match="add the rule createExtension"):
            asyncio.run(two())
        client.close()


@pytest.mark.parametrize(
    ("ahead", "said"), [(-3600, "s ahead of its own"), (3600, "s behind its own")]
)
def test_a_refused_key_names_a_clock_that_is_far_away(ahead, said):
    date = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + ahead))
    with (
        serving(always(401, error(401, "unable"), {"Date": date})) as server,
        pytest.raises(InputError, match=said),
    ):
        asked(server, "listZones")


def test_a_refused_key_says_nothing_of_clocks_that_agree():
    date = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime())
    with (
        serving(always(401, error(401, "unable"), {"Date": date})) as server,
        pytest.raises(InputError) as caught,
    ):
        asked(server, "listZones")
    assert "clock" not in caught.value.brief


@pytest.mark.parametrize(
    ("status", "raw", "kind"),
    [
        (200, b"<html>hello</html>", "text/html"),
        (404, b"<html>not found</html>", "text/html"),
        (502, b"", "text/html"),
        (200, b"{", "application/json"),
        (200, b"[]", "application/json"),
        (200, b'{"a": {}, "b": {}}', "application/json"),
        (200, b'{"a": 3}', "application/json"),
    ],
)
def test_what_is_not_the_api_is_said(status, raw, kind):
    with (
        serving(always(status, raw, {"Content-Type": kind})) as server,
        pytest.raises(OperatorError) as caught,
    ):
        asked(server, "createExtension")
    assert caught.value.code is ErrorCode.CLOUDSTACK_NONSENSE
    assert "createExtension" in caught.value.brief


def test_an_answer_that_says_it_did_not_succeed_is_a_refusal():
    tree = {"deletehostresponse": {"success": False, "displaytext": "it is in use"}}
    with serving(always(200, tree)) as server, pytest.raises(RefusalError, match="it is in use"):
        asked(server, "deleteHost")


# --- nobody answers -------------------------------------------------------------------------
def test_where_nothing_listens_nothing_was_sent():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    client = client_of(port)
    with pytest.raises(TransientError, match="was not sent") as caught:
        asyncio.run(client.call("createExtension"))
    client.close()
    assert caught.value.code is ErrorCode.CLOUDSTACK_UNREACHABLE


@pytest.fixture
def api_server():
    clock = FakeClock(wall=time.time())
    with ApiServer(ServerSettings(job_s=30.0), now=clock.wall) as running:
        running.test_clock = clock
        yield running


def own(server):
    key = server.key
    return CloudStackClient(
        server.endpoint, ApiKey(key=key.key, secret=key.secret), server.test_clock
    )


def through(server, work):
    client = own(server)
    try:
        return asyncio.run(work(client))
    finally:
        client.close()


CREATE = {"name": "x", "type": "Orchestrator", "path": "x"}


@pytest.mark.parametrize("when", list(When))
def test_a_command_that_changes_something_is_sent_once_and_its_lost_answer_is_told(
    api_server, when
):
    api_server.faults.add(Fault(kind=FaultKind.CUT, when=when, command="createExtension"))
    with pytest.raises(TransientError, match="no answer came") as caught:
        through(api_server, lambda client: client.call("createExtension", CREATE))
    assert caught.value.code is ErrorCode.CLOUDSTACK_SILENT
    assert len(api_server.calls.named("createExtension")) == 1
    assert len(api_server.state.extensions) == (when is When.AFTER)


def test_a_read_whose_answer_is_lost_is_asked_again(api_server):
    api_server.faults.add(Fault(kind=FaultKind.CUT, command="listZones", times=2))
    rows = through(api_server, lambda client: client.every("listZones", "zone"))
    assert [row["name"] for row in rows] == ["zone1"]
    assert len(api_server.calls.named("listZones")) == 3


def test_a_read_is_not_asked_for_ever(api_server):
    api_server.faults.add(Fault(kind=FaultKind.CUT, command="listZones", times=None))
    with pytest.raises(TransientError):
        through(api_server, lambda client: client.every("listZones", "zone"))
    assert len(api_server.calls.named("listZones")) == 3


# --- jobs -----------------------------------------------------------------------------------
def _job_script(states):
    def script(sent):
        if sent["command"] == "queryAsyncJobResult":
            return 200, {"queryasyncjobresultresponse": states.pop(0)}
        return 200, {"deletetemplateresponse": {"jobid": "j-1"}}

    return script


PENDING = {"jobstatus": 0}


def test_a_job_is_polled_at_half_a_second_doubling_to_five():
    clock = FakeClock(wall=time.time())
    slept = []
    sleep = clock.sleep

    async def noted(duration):
        slept.append(duration)
        await sleep(duration)

    clock.sleep = noted
    states = [dict(PENDING) for _ in range(6)] + [{"jobstatus": 1, "jobresult": {"success": True}}]
    with serving(_job_script(states)) as server:
        assert asked(server, "deleteTemplate", clock=clock) == {"success": True}
    assert slept == [0.5, 1.0, 2.0, 4.0, 5.0, 5.0]
    assert {sent.get("jobid") for sent in server.asked} == {None, "j-1"}


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (
            {"jobstatus": 2, "jobresultcode": 530, "jobresult": {"errortext": "in use"}},
            "deleteTemplate: in use",
        ),
        ({"jobstatus": 2, "jobresultcode": 530}, "its job failed and says nothing"),
    ],
)
def test_a_failed_job_is_a_refusal_also_without_any_result(state, said):
    with serving(_job_script([state])) as server, pytest.raises(RefusalError, match=said):
        asked(server, "deleteTemplate")


def test_a_job_that_never_ends_meets_its_deadline():
    states = [dict(PENDING) for _ in range(100)]
    with (
        serving(_job_script(states)) as server,
        pytest.raises(TransientError, match="had not ended after 120 s") as caught,
    ):
        asked(server, "deleteTemplate")
    assert caught.value.code is ErrorCode.DEADLINE


def test_a_restart_of_the_management_server_while_a_job_runs_is_waited_out(api_server):
    async def work(client):
        extension = await client.call("createExtension", CREATE)
        system, zone = next(iter(api_server.state.os_types)), next(iter(api_server.state.zones))
        template = await client.call(
            "registerTemplate",
            {
                "name": "t",
                "url": "http://x",
                "format": "External",
                "hypervisor": "External",
                "ostypeid": system,
                "zoneid": zone,
                "extensionid": extension["extension"]["id"],
            },
        )
        api_server.faults.add(Fault(kind=FaultKind.CUT, command="queryAsyncJobResult", times=3))
        return await client.call("deleteTemplate", {"id": template["template"][0]["id"]})

    assert through(api_server, work) == {"success": True}
    assert len(api_server.calls.named("queryAsyncJobResult")) > 3


# --- lists ----------------------------------------------------------------------------------
def pages_of(rows, *, most=500, count=None):
    def script(sent):
        size, page = int(sent["pagesize"]), int(sent["page"])
        if size > most:
            return 431, error(431, f"Page size can not exceed max allowed page size {most}")
        shown = rows[(page - 1) * size : page * size]
        total = len(rows) if count is None else count
        return 200, {"listhostsresponse": {"count": total, "host": shown} if shown else {}}

    return script


@pytest.mark.parametrize("length", [0, 1, 499, 500, 501, 1203])
def test_a_list_is_whole_however_many_pages_it_has(length):
    rows = [{"id": f"h{n}"} for n in range(length)]
    with serving(pages_of(rows)) as server:
        assert list(listed(server, "listHosts", "host")) == rows
    assert len(server.asked) == max(1, -(-length // 500))


def test_a_site_with_smaller_pages_is_asked_for_smaller_pages():
    rows = [{"id": f"h{n}"} for n in range(250)]
    with serving(pages_of(rows, most=100)) as server:
        assert list(listed(server, "listHosts", "host")) == rows


def test_a_refusal_that_is_not_about_pages_is_not_tried_with_smaller_ones():
    with (
        serving(always(431, error(431, "Invalid parameter zoneid"))) as server,
        pytest.raises(RefusalError, match="Invalid parameter zoneid"),
    ):
        listed(server, "listHosts", "host")
    assert len(server.asked) == 1


def test_a_list_that_is_shorter_than_its_count_is_no_list():
    with (
        serving(pages_of([{"id": "a"}], count=3)) as server,
        pytest.raises(TransientError) as caught,
    ):
        listed(server, "listHosts", "host")
    assert caught.value.code is ErrorCode.CLOUDSTACK_LIST_CUT


def test_a_row_that_moved_from_one_page_to_the_next_makes_the_list_be_asked_anew():
    first = [{"id": f"h{n}"} for n in range(600)]
    moved = [{"id": "new"}, *first]
    answers = iter([first, moved])

    def script(sent):
        rows = next(answers, moved)
        size, page = int(sent["pagesize"]), int(sent["page"])
        shown = rows[(page - 1) * size : page * size]
        return 200, {"listhostsresponse": {"count": len(rows), "host": shown}}

    with serving(script) as server:
        assert list(listed(server, "listHosts", "host")) == moved
    assert len(server.asked) == 4


def test_a_template_of_two_zones_is_two_rows():
    rows = [{"id": "t", "zoneid": "z1"}, {"id": "t", "zoneid": "z2"}]

    def script(_sent):
        return 200, {"listtemplatesresponse": {"count": 2, "template": rows}}

    with serving(script) as server:
        assert list(listed(server, "listTemplates", "template")) == rows
