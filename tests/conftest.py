"""Unit tests reach nothing outside; everything else says by its mark what it needs."""

import socket
import subprocess

import pytest
from hypothesis import settings

# how long an example takes says how busy the machine is, not whether it is right
settings.register_profile("busy machine", deadline=None)
settings.load_profile("busy machine")

OUTSIDE = {"emulated", "rack", "rack_long"}


@pytest.fixture(autouse=True)
def _no_outside(request, monkeypatch):
    if OUTSIDE & {mark.name for mark in request.node.iter_markers()}:
        return
    if "/tests/unit/" not in request.node.path.as_posix():
        return

    def refuse(*args, **_kwargs):
        pytest.fail(f"a unit test reached outside: {args!r}")

    monkeypatch.setattr(subprocess.Popen, "__init__", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
