"""Tells systemd that the service is ready, so that other units wait for it."""

import socket
from collections.abc import Mapping
from typing import Final

NOTIFY_SOCKET: Final = "NOTIFY_SOCKET"


def tell_ready(environ: Mapping[str, str]) -> None:
    """READY=1, where somebody waits for it (Type=notify).

    Source: sd_notify(3); a leading @ is a socket without a file.
    """
    path = environ.get(NOTIFY_SOCKET, "")
    if not path:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as told:
        told.sendto(b"READY=1", "\0" + path[1:] if path.startswith("@") else path)
