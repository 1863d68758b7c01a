import asyncio
import io
import json
import logging
import sys
import threading
import warnings

import pytest

from provisioner.about import FIELDS, about, learned
from provisioner.config import Role
from provisioner.errors import ConflictError, InputError, OperatorError, TransientError
from provisioner.secret import Secret
from provisioner.service import rate
from provisioner.service.logs import configure, masked
from provisioner.service.rate import Rate
from provisioner.service.tokens import holder_of, new_token, parse_tokens
from provisioner.setting_files import LogLevel
from provisioner.testing.clock import FakeClock

RANDOM = bytes(range(32))


# --- tokens
def test_a_token_is_stored_as_its_digest_only():
    token, line = new_token("alice", Role.ADMIN, RANDOM, "")
    assert token.reveal() not in line
    assert line.startswith("alice admin ")
    assert holder_of(token, parse_tokens(line)).role is Role.ADMIN
    assert holder_of(Secret("rwt_00"), parse_tokens(line)) is None


def test_an_operator_has_one_token_and_a_good_name():
    _, line = new_token("alice", Role.ADMIN, RANDOM, "")
    with pytest.raises(ConflictError):
        new_token("alice", Role.VIEWER, RANDOM, line)
    with pytest.raises(InputError):
        new_token("Alice Smith", Role.VIEWER, RANDOM, "")


@pytest.mark.parametrize("line", ["alice", "alice king 00", "alice admin 00", "a admin x y"])
def test_a_broken_line_of_tokens_is_named_by_number_only(line):
    with pytest.raises(OperatorError, match="line 2") as caught:
        parse_tokens(f"# people\n{line}\n")
    assert line not in str(caught.value)


# --- rate
def test_a_bucket_fills_again():
    clock = FakeClock()
    bound = Rate(clock, per_second=2.0, burst=3.0)
    for _ in range(3):
        bound.take("a")
    with pytest.raises(TransientError):
        bound.take("a")
    bound.take("b")
    clock.advance(0.5)
    bound.take("a")


def test_many_sources_do_not_fill_memory(monkeypatch):
    monkeypatch.setattr(rate, "MOST_SOURCES", 10)
    bound = Rate(FakeClock(), per_second=1.0, burst=1.0)
    for n in range(100):
        bound.take(str(n))
    assert len(bound._buckets) == 10


# --- logs
@pytest.fixture
def log_lines(monkeypatch):
    stream = io.StringIO()
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
    configure(stream, LogLevel.DEBUG, site="lab")
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    logging.captureWarnings(capture=False)
    root.handlers[:] = before
    root.setLevel(level)


def test_a_log_line_is_json_with_the_known_fields(log_lines):
    extra = {"site": "lab", "server": "s1", "operation": "o", "epoch": 3, "colour": "red"}
    logging.getLogger("a.b").info("step %s", "off\n", extra=extra)
    (line,) = log_lines()
    assert line["text"] == "step off\n"
    assert {k: line[k] for k in ("site", "server", "operation", "epoch", "level", "logger")} == {
        "site": "lab",
        "server": "s1",
        "operation": "o",
        "epoch": 3,
        "level": "info",
        "logger": "a.b",
    }
    assert "instance" not in line
    assert "colour" not in line


def test_a_scope_gives_its_fields_to_every_line_in_it(log_lines):
    log = logging.getLogger("x")

    async def below():
        learned(server="s1")
        await asyncio.to_thread(log.info, "in a thread")

    with about(site="zone1"), about(instance="i"):
        asyncio.run(below())
        log.info("after", extra={"server": "s2"})
    log.info("outside")
    ours = [line for line in log_lines() if line["logger"] == "x"]
    said = [{key: line[key] for key in FIELDS if key in line} for line in ours]
    assert said == [
        {"site": "zone1", "server": "s1", "instance": "i"},
        {"site": "zone1", "server": "s2", "instance": "i"},
        {"site": "lab"},
    ]


def test_what_python_would_print_is_a_line_too(log_lines):
    def ends_badly():
        raise ValueError("token=abc")

    class Gone:
        def __del__(self):
            raise ValueError("nobody catches this")

    thread = threading.Thread(target=ends_badly, name="worker")
    thread.start()
    thread.join()
    Gone()
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(capture=False)
        logging.captureWarnings(capture=True)
        warnings.warn("old", stacklevel=1)
    texts = [line["text"] for line in log_lines()]
    assert texts[0] == "worker ended"
    assert "Gone" in texts[1]
    assert "UserWarning: old" in texts[2]


def test_a_traceback_is_one_field(log_lines):
    try:
        int("token=abc")
    except ValueError:
        logging.getLogger("x").exception("failed")
    (line,) = log_lines()
    assert "ValueError" in line["traceback"]
    assert "abc" not in line["traceback"]


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer s3cret",
        "rackwright.token=s3cret quiet",
        '{"password": "s3cret"}',
        "vm_password='s3cret'",
        "https://x/?token=s3cret&a=1",
        "Basic s3cret",
        "X-Auth-Token: s3cret",
        f"{Secret('s3cret')}",
    ],
)
def test_secrets_are_masked(text):
    assert "s3cret" not in masked(text)


@pytest.mark.parametrize("text", ["no password given", "token refused", "step off done in 3 s"])
def test_plain_words_are_left_alone(text):
    assert masked(text) == text
