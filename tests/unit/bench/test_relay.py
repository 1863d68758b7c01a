"""The relay passes everything on, and counts only what lies between a request and its answer."""

import socket
import threading

import pytest

from tests.bench.relay import Relay, Waiting

pytestmark = pytest.mark.emulated
ANSWER = b"answer" * 100_000


@pytest.mark.parametrize(
    ("pieces", "waited_s"),
    [
        ([], 0.0),
        ([(1.0, "asks"), (3.0, "answers")], 2.0),
        # a long request ends with its last piece, a long answer likewise
        ([(1.0, "asks"), (2.0, "asks"), (3.0, "answers"), (5.0, "answers")], 3.0),
        # what the caller does between an answer and its next request is its own
        ([(1.0, "asks"), (2.0, "answers"), (9.0, "asks"), (9.5, "answers")], 1.5),
        ([(1.0, "answers")], 0.0),
    ],
)
def test_a_caller_waits_from_the_end_of_its_request_to_the_end_of_the_answer(pieces, waited_s):
    waiting = Waiting()
    for now, what in pieces:
        getattr(waiting, what)(now)
    assert waiting.waited_s == waited_s


def _answer_once(server):
    caller, _ = server.accept()
    with caller:
        assert caller.recv(100) == b"ask"
        caller.sendall(ANSWER)


def test_bytes_come_through_both_ways_on_one_connection_after_the_other():
    with socket.create_server(("127.0.0.1", 0)) as server:
        with Relay(*server.getsockname()) as relay:
            for _ in range(2):
                threading.Thread(target=_answer_once, args=(server,), daemon=True).start()
                with socket.create_connection(("127.0.0.1", relay.port), timeout=10) as caller:
                    caller.sendall(b"ask")
                    assert b"".join(iter(lambda c=caller: c.recv(65536), b"")) == ANSWER
        assert relay.waiting.waited_s > 0
