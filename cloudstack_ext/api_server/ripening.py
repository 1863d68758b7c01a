"""What happens by itself as time goes: looked at before each call, there is no thread for it."""

import hashlib
import os
from pathlib import Path

from cloudstack_ext.api_server.model.catalogue import Extension
from cloudstack_ext.api_server.model.places import ManagementServer, ResourceState
from cloudstack_ext.api_server.settings import ServerSettings
from cloudstack_ext.api_server.state import State

_UP = "Up"


def ripen(state: State, settings: ServerSettings, now: float) -> None:
    """Paths are checked once an interval; hosts that prepare for maintenance come into it."""
    rounds = int((now - state.started) / settings.path_check_s)
    if rounds > state.path_rounds:
        state.path_rounds = rounds
        check_paths(state)
    for host in state.hosts.values():
        if host.state is ResourceState.PREPARING and now >= host.maintained_at:
            host.state = host.becomes


def check_paths(state: State) -> None:
    """One round of the background check, over all extensions."""
    for extension in state.extensions.values():
        extension.path_ready = is_path_ready(state, extension)


def is_path_ready(state: State, extension: Extension) -> bool:
    """Whether the entry is there, executable and the same on every server that is up."""
    seen = {
        _digest(server.extensions / extension.path)
        for server in state.servers.values()
        if server.state == _UP and server.extensions is not None
    }
    return None not in seen and len(seen) <= 1


def write_template_entry(servers: list[ManagementServer], path: str) -> None:
    """What CloudStack does for a path that ends in `.sh` and has no file: an entry that fails."""
    for server in servers:
        if server.extensions is None or (server.extensions / path).exists():
            continue
        file = server.extensions / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("#!/bin/sh\nexit 1\n")
        file.chmod(0o755)


def _digest(path: Path) -> str | None:
    if not path.is_file() or not os.access(path, os.R_OK | os.X_OK):
        return None
    return hashlib.sha512(path.read_bytes()).hexdigest()
