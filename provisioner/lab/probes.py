"""Looking at the rack from outside: who answers whom, by packets.

Every negative answer is worth something only beside the same probe succeeding from the right
place; the callers pair them.
"""

import contextlib
import socket
import time
from collections.abc import Callable
from pathlib import Path

from provisioner.errors import ErrorCode, OperatorError
from provisioner.lab.commands import attempt
from provisioner.lab.namespaces import argv_inside, inside


def ping(namespace: str, address: str, *, within_s: float = 2.0) -> bool:
    """Whether the address answers an echo request sent from the namespace."""
    return _says_yes(namespace, ["busybox", "ping", "-c", "1", "-W", f"{within_s:.0f}", address])


def arping(namespace: str, interface: str, address: str, *, within_s: float = 2.0) -> bool:
    """Whether anybody on that wire says that the address is theirs."""
    words = ["busybox", "arping", "-f", "-c", "2", "-w", f"{within_s:.0f}", "-I", interface]
    return _says_yes(namespace, [*words, address])


def _says_yes(namespace: str, argv: list[str]) -> bool:
    return attempt(argv_inside(namespace, argv)).returncode == 0


def tcp_answers(namespace: str, address: str, port: int, *, within_s: float = 2.0) -> bool:
    """Whether a connection is accepted, seen from the namespace."""

    def connect() -> bool:
        with contextlib.suppress(OSError):
            socket.create_connection((address, port), timeout=within_s).close()
            return True
        return False

    return inside(namespace, connect)


def socket_answers(path: Path) -> bool:
    """Whether a connection to a Unix socket is accepted: one of a dead process stays behind."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as probe:
        probe.connect(str(path))
        return True
    return False


def wait_for_tcp(namespace: str, address: str, port: int, *, what: str, within_s: float) -> None:
    """Return once it answers.

    Raises:
        OperatorError: LAB: it did not in time.
    """
    where = f"{what} does not answer at {address} port {port}"
    wait_for(lambda: tcp_answers(namespace, address, port, within_s=1.0), where, within_s)


def wait_for_socket(path: Path, *, what: str, within_s: float) -> None:
    """The same for a Unix socket."""
    wait_for(lambda: socket_answers(path), f"{what} does not answer at {path}", within_s)


def wait_for(answers: Callable[[], bool], silence: str, within_s: float) -> None:
    """Look until it is so.

    Raises:
        OperatorError: LAB, with what is silent: it was not in time.
    """
    if not becomes_so(answers, within_s):
        raise OperatorError(ErrorCode.LAB, f"{silence} within {within_s:.0f} s")


def becomes_so(seen: Callable[[], bool], within_s: float, *, every_s: float = 0.05) -> bool:
    """Look again and again; False when it was not so in time."""
    deadline = time.monotonic() + within_s
    while not seen():
        if time.monotonic() > deadline:
            return False
        time.sleep(every_s)
    return True
