"""The entry while the service is down, restarts, is silent or lies about being there."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.service.entry.rig import (
    GOOD,
    HTTPS,
    SOCKET,
    Rig,
    code_of,
    cut,
    http,
    silent,
    unread,
)

pytestmark = pytest.mark.emulated
UNKNOWN = {"status": "success", "power_state": "PowerUnknown"}


@pytest.fixture(params=["no socket", "stale socket", "a file", "no folder", "closed port"])
def away(tmp_path, request):
    rig = Rig(tmp_path, HTTPS if request.param == "closed port" else SOCKET)
    if request.param == "stale socket":
        rig.serve(http(GOOD)).close()
        rig.services.clear()
    elif request.param == "a file":
        rig.socket.write_bytes(b"")
    elif request.param == "no folder":
        rig.write_config(f"socket = {rig.folder}/gone/service.sock\n")
    yield rig
    rig.close()


def test_status_is_unknown_at_once(away):
    code, body, seconds = away.timed("status")
    assert (code, body) == (0, UNKNOWN)
    assert seconds < away.at_once_s()


def test_statuses_fails_at_once(away):
    code, body, seconds = away.timed("statuses")
    assert (code, code_of(body)) == (1, "SERVICE_DOWN")
    assert seconds < away.at_once_s()


def test_any_other_verb_waits_and_fails_before_its_deadline(away):
    code, body, seconds = away.timed("create", wait="3")
    assert (code, code_of(body)) == (1, "SERVICE_DOWN")
    assert 2.0 < seconds < 3.0 + away.start_s()


@pytest.mark.parametrize("verb", ["getconsole", "sel log"])
def test_what_the_service_would_refuse_waits_for_it_too(rig, verb):
    assert code_of(rig.ask(verb, wait="2")[1]) == "SERVICE_DOWN"


@pytest.mark.parametrize("verb", ["prepare", "create", "start", "stop", "reboot", "delete"])
def test_a_service_that_comes_back_is_found(rig, verb):
    timer = threading.Timer(0.7, rig.serve, [http(GOOD)])
    timer.start()
    assert rig.ask(verb)[0] == 0
    timer.join()


def _half(connection):
    connection.sendall(http(GOOD)[:-10])


STOPPING = http(b"the service is stopping", None, b"503 Service Unavailable")


@pytest.mark.parametrize("end", [cut, _half, STOPPING, unread(lambda _: None)])
def test_a_request_that_was_cut_is_sent_again_unchanged(rig, end):
    rig.payload.write_bytes(b"x" * 3_000_000)
    service = rig.serve(end, end, http(GOOD))
    assert rig.ask("create") == (0, {"status": "success", "message": "on"})
    assert len(set(service.requests)) == 1


def test_a_service_restarted_between_two_retries_gets_the_same_request(rig):
    first = rig.serve(cut)

    def restart():
        while not first.requests:
            time.sleep(0.01)
        time.sleep(0.3)
        rig.leave()
        time.sleep(0.5)
        rig.serve(http(GOOD))

    thread = threading.Thread(target=restart)
    thread.start()
    assert rig.ask("create")[0] == 0
    thread.join()
    assert set(first.requests) == set(rig.services[1].requests)


@pytest.mark.parametrize("end", [cut, _half, STOPPING])
def test_status_is_unknown_at_once_when_it_is_cut(rig, end):
    service = rig.serve(end)
    code, body, seconds = rig.timed("status")
    assert (code, body) == (0, UNKNOWN)
    assert seconds < rig.at_once_s()
    assert len(service.requests) == 1


def _drip(connection):
    for byte in http(GOOD):
        connection.sendall(bytes([byte]))
        time.sleep(0.05)


@pytest.mark.parametrize("act", [silent, _drip, unread(lambda _: time.sleep(3.5))])
def test_the_deadline_is_kept_whatever_the_service_does(rig, act):
    rig.payload.write_bytes(b"x" * 3_000_000)
    rig.serve(act)
    code, body, seconds = rig.timed("create", wait="3")
    assert (code, code_of(body)) == (1, "DEADLINE")
    assert 2.6 < seconds < 3.0 + rig.start_s()


def test_a_hanging_service_holds_up_status_for_seconds_only(rig):
    rig.serve(silent)
    code, body, seconds = rig.timed("status")
    assert (code, body) == (0, UNKNOWN)
    assert seconds < 6 + rig.start_s()


def test_a_service_that_answers_before_it_read_all_is_heard(rig):
    line = b'{"status":"error","error":"PAYLOAD_TOO_LARGE: x"}'

    @unread
    def early(connection):
        connection.recv(1000)
        connection.sendall(http(line, b"1", b"413 Content Too Large"))

    rig.payload.write_bytes(b"x" * 4_000_000)
    rig.serve(early)
    assert code_of(rig.ask("create")[1]) == "PAYLOAD_TOO_LARGE"


@pytest.mark.rack_long  # a minute of waiting; needs no rack
def test_after_60_s_it_gives_up_counted_anew_where_the_service_had_worked(rig, tmp_path):
    other = Rig(tmp_path / "other", rig.way)

    def held(_connection):
        time.sleep(6)
        other.leave()

    other.serve(cut, held)
    with ThreadPoolExecutor(2) as pool:
        away, cut_later = pool.submit(rig.timed), pool.submit(other.timed)
        for call, least in ((away, 59), (cut_later, 65)):
            code, body, seconds = call.result()
            assert (code, code_of(body)) == (1, "SERVICE_DOWN")
            assert least < seconds < least + 4
    other.close()
