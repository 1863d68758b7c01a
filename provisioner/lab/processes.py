"""Processes that stay: started apart from us, on record, and ended by that record alone."""

import contextlib
import json
import os
import shutil
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from provisioner.errors import ErrorCode, OperatorError
from provisioner.lab.probes import becomes_so

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_STARTED_FIELD = 19
"""Start time in /proc/PID/stat, counted behind the name, which may hold spaces."""
_WAIT = 'read -r go && exec "$@" < /dev/null'


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A process that cannot be taken for another one.

    Attributes:
        started: In the kernel's ticks since it booted.
        boot: Of the machine: after a reboot the same numbers mean another process.
    """

    pid: int
    started: int
    boot: str

    @classmethod
    def of(cls, pid: int) -> "Running | None":
        """As the kernel sees it now; None when it is gone or only waits to be collected.

        One whose first thread has ended goes on while others do, and keeps its sockets.
        """
        try:
            text = Path(f"/proc/{pid}/stat").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return None
        fields = text.rpartition(") ")[2].split()
        if fields[0] in "ZX" and not _other_threads(pid):
            return None
        return cls(pid=pid, started=int(fields[_STARTED_FIELD]), boot=_BOOT_ID.read_text().strip())

    def is_alive(self) -> bool:
        """Whether the same process still runs."""
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, os.WNOHANG)
        return Running.of(self.pid) == self

    def end(self, *, patience_s: float = 5.0) -> None:
        """Ask, wait, then force; returns when it is gone.

        Raises:
            OperatorError: LAB: even forced it did not go.
        """
        for asked in (signal.SIGTERM, signal.SIGKILL):
            if self.is_alive():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self.pid, asked)
                becomes_so(lambda: not self.is_alive(), patience_s)
        if self.is_alive():
            raise OperatorError(ErrorCode.LAB, f"process {self.pid} cannot be ended")


def _other_threads(pid: int) -> bool:
    try:
        return len(list(Path(f"/proc/{pid}/task").iterdir())) > 1
    except (FileNotFoundError, ProcessLookupError):
        return False


class Record:
    """The processes of one rack, each under a name.

    Args:
        run: Folder of one file a process.
        logs: Folder of one file a process with what it wrote.
    """

    def __init__(self, *, run: Path, logs: Path) -> None:
        self._run = run
        self._logs = logs

    def start(
        self, name: str, argv: Sequence[str], *, environ: Mapping[str, str] | None = None
    ) -> bool:
        """Start it unless the same command runs already; answers whether it was started.

        It has a session of its own, so that Ctrl-C here does not reach it, no standard input,
        and outlives us.
        """
        kept = self._read(name)
        if kept is not None and kept[0].is_alive():
            if kept[1] == list(argv):
                return False
            kept[0].end()
        log = self._log(name)
        with _held(argv, log, os.environ if environ is None else environ) as pid:
            running = Running.of(pid)
            if running is None:
                raise OperatorError(
                    ErrorCode.LAB, f"{name} ended at once: {last_line(log)}", detail=str(log)
                )
            self._write(name, running, argv)
        return True

    def running(self, name: str) -> Running | None:
        """The process under this name, while it lives."""
        kept = self._read(name)
        return kept[0] if kept is not None and kept[0].is_alive() else None

    def need(self, name: str) -> None:
        """Some end only a moment after their start, over a setting or a port that is taken.

        Raises:
            OperatorError: LAB, with what it said last: it ended.
        """
        if self.running(name) is None:
            raise OperatorError(ErrorCode.LAB, f"{name} ended after its start: {self._said(name)}")

    def wait_for(self, name: str, answers: Callable[[], bool], within_s: float) -> None:
        """Return once it answers.

        Raises:
            OperatorError: LAB, with what it said last: it ended, or did not answer in time.
        """

        def lives_and_answers() -> bool:
            self.need(name)
            return answers()

        if not becomes_so(lives_and_answers, within_s):
            silence = f"{name} does not answer within {within_s:.0f} s"
            raise OperatorError(ErrorCode.LAB, f"{silence}: {self._said(name)}")

    def stop(self, name: str, *, patience_s: float = 5.0) -> None:
        """End it and forget it; safe to repeat."""
        kept = self._read(name)
        if kept is not None:
            kept[0].end(patience_s=patience_s)
        self._file(name).unlink(missing_ok=True)

    def names(self) -> tuple[str, ...]:
        """Everything on record, running or not."""
        return tuple(sorted(path.stem for path in self._run.glob("*.json")))

    def _log(self, name: str) -> Path:
        return self._logs / f"{name}.log"

    def _said(self, name: str) -> str:
        return last_line(self._log(name))

    def _file(self, name: str) -> Path:
        return self._run / f"{name}.json"

    def _read(self, name: str) -> tuple[Running, list[str]] | None:
        try:
            kept = json.loads(self._file(name).read_text())
            running = Running(pid=kept["pid"], started=kept["started"], boot=kept["boot"])
            return running, list(kept["argv"])
        except (FileNotFoundError, ValueError, KeyError):  # killed while it was written
            return None

    def _write(self, name: str, running: Running, argv: Sequence[str]) -> None:
        kept = {
            "pid": running.pid,
            "started": running.started,
            "boot": running.boot,
            "argv": list(argv),
        }
        hidden = self._run / f".{name}"
        hidden.write_text(json.dumps(kept))
        hidden.replace(self._file(name))


@contextlib.contextmanager
def _held(argv: Sequence[str], log: Path, environ: Mapping[str, str]) -> Iterator[int]:
    """Its process id; it begins when the block has ended well.

    Whoever is killed before it is on record leaves nothing: the one that waits ends with us.
    """
    if shutil.which(argv[0], path=environ.get("PATH", os.defpath)) is None:
        raise OperatorError(
            ErrorCode.LAB, f"{argv[0]} is not installed; ./dev installs what the lab needs"
        )
    append = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    waits, lets_go = os.pipe()
    try:
        yield os.posix_spawn(
            "/bin/sh",
            ["sh", "-c", _WAIT, "sh", *argv],
            dict(environ),
            file_actions=[
                (os.POSIX_SPAWN_DUP2, waits, 0),
                (os.POSIX_SPAWN_OPEN, 1, str(log), append, 0o644),
                (os.POSIX_SPAWN_DUP2, 1, 2),
            ],
            setsid=True,
        )
        os.write(lets_go, b"go\n")
    finally:
        os.close(waits)
        os.close(lets_go)


def last_line(log: Path) -> str:
    """What a process said last, for an error's one line."""
    try:
        lines = log.read_text(errors="replace").strip().splitlines()
    except FileNotFoundError:
        return "it said nothing"
    return lines[-1] if lines else "it said nothing"
