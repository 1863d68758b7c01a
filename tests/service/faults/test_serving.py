"""How the service begins and ends: all of it or nothing, and in order."""

import json
import os
import socket
import sqlite3
import ssl
import time
from contextlib import closing
from types import SimpleNamespace
from unittest import mock

import pytest

from cloudstack_ext import main_serve
from cloudstack_ext.main_engine import Engine
from tests.service.faults.site import address

pytestmark = pytest.mark.emulated


def test_a_caller_without_a_farewell_does_not_keep_the_service_from_its_end(site):
    site.start()
    trusting = ssl.create_default_context(cafile=site.state / "ca.pem")
    trusting.check_hostname = False
    plain = socket.create_connection((address(), 8443), timeout=5)
    with trusting.wrap_socket(plain) as silent:
        silent.sendall(b"GET /agent/v1/order HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert silent.recv(4096).startswith(b"HTTP/1.1 ")
        began = time.monotonic()
        site.stop()  # with exit status 0
        assert time.monotonic() - began < 10
    lines = [json.loads(line) for line in site.log().splitlines()]
    assert [line for line in lines if line["level"] == "error"] == []
    assert not (site.state / "rackwright.db-wal").exists()  # the database was closed


@pytest.mark.parametrize(
    ("old", "new", "status", "said"),
    [
        ("/operators.sock", "/gone/operators.sock", 64, "CONFIG_INVALID: cannot listen at "),
        (
            "[operators]",
            '[operators]\nhttps = { address = "192.0.2.1", port = 8444 }',
            75,
            "ADDRESS_MISSING: 192.0.2.1 is no address of this machine",
        ),
        (
            "[service]",
            '[service]\nextension_certificate = "gone.pem"',
            64,
            "FILE_UNREADABLE: ",
        ),
    ],
    ids=["no folder", "no address", "no certificate"],
)
def test_where_one_listener_cannot_be_had_nothing_begins(site, old, new, status, said):
    with closing(sqlite3.connect(site.state / "rackwright.db")) as connection:
        before = list(connection.iterdump())
    text = site.config.read_text()
    wrong = text.replace(old, new)
    assert wrong != text
    site.config.write_text(wrong)
    ended = site.command("serve")
    *logged, line = ended.stderr.splitlines()
    assert (ended.returncode, logged) == (status, [])
    assert line.startswith(said)
    assert not (site.folder / "extension.sock").exists()
    with closing(sqlite3.connect(site.state / "rackwright.db")) as connection:
        assert list(connection.iterdump()) == before
    site.config.write_text(text)
    site.start()


def test_an_engine_that_ended_by_itself_can_be_stopped():
    def broken(_settings):
        raise LookupError("no hardware")

    engine = Engine(SimpleNamespace(settings=None), broken)
    with pytest.raises(LookupError):
        engine.start()
    engine.stop()


def test_a_listener_that_breaks_ends_the_service_in_order(monkeypatch, caplog):
    seen = mock.MagicMock()
    seen.engine.failure, seen.parts.held = None, ""

    async def broken(*_listeners, **_named):
        raise RuntimeError("at its end")

    for name, value in {
        "logs": seen.logs,
        "logging": seen.logging,
        "write_boot_files": seen.files,
        "check_steps": seen.steps,
        "compose": lambda _settings: seen.parts,
        "Engine": lambda *_given: seen.engine,
        "listeners": lambda *_given: [seen.listener],
        "serve": broken,
    }.items():
        monkeypatch.setattr(main_serve, name, value)
    monkeypatch.setattr(os, "_exit", mock.Mock(side_effect=SystemExit))
    with pytest.raises(SystemExit):
        main_serve.run(mock.MagicMock())
    os._exit.assert_called_once_with(1)
    acts = [str(each) for each in seen.mock_calls]
    wanted = ["engine.start", "listener.close", "engine.stop", "parts.database.close"]
    assert [act for act in wanted if f"call.{act}()" in acts] == wanted
    assert sorted(wanted, key=lambda act: acts.index(f"call.{act}()")) == wanted
    assert "at its end" in caplog.text
