"""The API server as a process: listens until it is ended."""

import argparse
import json
import os
import threading
from pathlib import Path

from cloudstack_ext.api_server.faults import Fault, FaultKind, When
from cloudstack_ext.api_server.server import ApiServer
from cloudstack_ext.api_server.settings import ServerSettings


def main() -> None:
    """Write the file that says where it is and with which key, then serve."""
    parser = argparse.ArgumentParser(prog="cloudstack_ext.api_server")
    parser.add_argument("--ready", type=Path, required=True)
    parser.add_argument("--calls", type=Path, required=True)
    parser.add_argument("--fail-call", type=int)
    parser.add_argument("--when", type=When, choices=list(When), default=When.BEFORE)
    asked = parser.parse_args()
    asked.calls.unlink(missing_ok=True)  # numbers begin anew
    server = ApiServer(ServerSettings(calls=asked.calls))
    if asked.fail_call is not None:
        server.faults.add(Fault(kind=FaultKind.CUT, call=asked.fail_call, when=asked.when))
    server.start()
    _write(asked.ready, server)
    threading.Event().wait()


def _write(path: Path, server: ApiServer) -> None:
    """For its owner alone: the secret is in it."""
    known = {
        "pid": os.getpid(),
        "endpoint": server.endpoint,
        "key": server.key.key,
        "secret": server.key.secret.reveal(),
        "calls": str(server.calls.path),
    }
    hidden = path.with_name(f".{path.name}")
    hidden.unlink(missing_ok=True)
    handle = os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w") as file:
        json.dump(known, file)
    hidden.replace(path)


if __name__ == "__main__":
    main()
