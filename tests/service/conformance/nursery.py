"""Starts entry points written in Python by forking: a fortieth of what their own start costs.

One process with the contract loaded forks for each call; the child is what the management
server would see: its pipe as both outputs, a silent input, an exit status, and SIGKILL.
"""

import array
import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from cloudstack_ext.management_server.entry_point import (
    NOT_EXECUTABLE,
    TIMEOUT,
    Called,
    _read,
    ended,
)

ROOT = Path(__file__).parents[3]
HELD_S = 1.0


class Nursery:
    """The process that forks; it forgets nothing between calls but what the scripts write."""

    def __init__(self, folder, **environ):
        self.path = folder / "nursery.sock"
        self.process = subprocess.Popen(
            [sys.executable, __file__, str(self.path)],
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", **environ},
            stdin=subprocess.DEVNULL,
        )
        until = time.monotonic() + 20
        while not self.path.exists():
            assert time.monotonic() < until
            time.sleep(0.01)

    def close(self):
        self.process.terminate()
        self.process.wait(10)

    def door(self):
        return NurseryDoor(self.path)


class NurseryDoor:
    """`Door` for scripts; the first word of an argv is the script's path."""

    def __init__(self, path):
        self.path, self._running = path, set()

    def run(self, argv, wait):
        if not Path(argv[0]).exists():
            return Called(exit=None, output="", seconds=0.0, failure=NOT_EXECUTABLE)
        began = time.monotonic()
        (source, writes), (silent, held) = os.pipe(), os.pipe()
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as line:
            line.connect(str(self.path))
            handed = array.array("i", [silent, writes])
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, handed)]
            line.sendmsg(["\0".join(argv).encode()], rights)
            os.close(writes)
            os.close(silent)
            try:
                return self._watch(line, source, began, wait)
            finally:
                os.close(held)
                os.close(source)

    def _watch(self, line, source, began, wait):
        pid = int(line.recv(64))
        self._running.add(pid)
        if not select.select([line], [], [], wait)[0]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            line.recv(64)
            self._running.discard(pid)
            return Called(exit=None, output="", seconds=time.monotonic() - began, failure=TIMEOUT)
        status, seconds = int(line.recv(64)), time.monotonic() - began
        self._running.discard(pid)
        with os.fdopen(source, "rb", closefd=False) as pipe:
            text, kept = _read(pipe, HELD_S)
        return ended(os.waitstatus_to_exitcode(status), text, seconds, held=kept)

    def kill_all(self):
        for pid in tuple(self._running):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def serve(path):
    import cloudstack_ext.contract  # noqa: F401 loaded once for all

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(f"{path}.new")
    listener.listen(512)
    Path(f"{path}.new").rename(path)
    while True:
        line, _ = listener.accept()
        if not os.fork():
            listener.close()
            midwife(line)
        line.close()


def midwife(line):
    """Forks the child, tells its pid, waits for it, tells its status."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    words, rights, _, _ = line.recvmsg(65536, 1024)
    silent, writes = array.array("i", rights[0][2])
    child = os.fork()
    if not child:
        line.close()
        os.dup2(silent, 0)
        os.dup2(writes, 1)
        os.dup2(writes, 2)
        os.close(silent)
        os.close(writes)
        become(words.decode().split("\0"))
    os.close(silent)
    os.close(writes)
    line.send(str(child).encode())
    _, status = os.waitpid(child, 0)
    line.send(str(status).encode())
    os._exit(0)


def become(argv):
    sys.argv = argv
    os.environ["EXAMPLE_FOLDER"] = str(Path(argv[0]).parent / "machines")
    code = 1
    try:
        source = Path(argv[0]).read_text()
        exec(compile(source, argv[0], "exec"), {"__name__": "__main__"})
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:  # noqa: BLE001 as an interpreter ends
        import traceback

        traceback.print_exc()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


if __name__ == "__main__":
    serve(sys.argv[1])
