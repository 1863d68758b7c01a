"""The one process that a management server starts for each call: the extension's entry point.

Source: seen 1 (e, f, g, g2) and the notes beside the recorded payloads.
"""

import asyncio
import json
import os
import select
import subprocess
import time
import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Protocol

from cloudstack_ext.power_view import PowerState
from provisioner.units import Seconds

DIRECT_AGENTS = 500
"""Calls at once; the default of direct.agent.pool.size."""
TIMEOUT = "Timeout"
NOT_EXECUTABLE = "File is not executable"
HELD = "Running custom action timed out, please try again"


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """How one call of the entry ended.

    Attributes:
        exit: None where it was killed at the end of its wait, or could not be started.
        output: Both outputs together; empty where it was killed, as the server drops it.
        failure: "" for a success, else what the server writes into its log.
        held: Something that it left behind kept the output open until the caller gave up.
    """

    exit: int | None
    output: str
    seconds: float
    failure: str
    held: bool = False

    def power_state(self) -> PowerState:
        """What the server makes of the answer to `status` (seen h.3, h.5)."""
        if self.failure:
            return PowerState.UNKNOWN
        said = self.parsed()
        if isinstance(said, dict):
            said = said.get("power_state")
        known = {state.lower(): state for state in PowerState}
        return known.get(str(said).strip().lower(), PowerState.UNKNOWN)

    def parsed(self) -> Any:  # noqa: ANN401 whatever an extension prints
        """The output as JSON, or as the text that it is."""
        try:
            return json.loads(self.output)
        except (ValueError, RecursionError):
            return self.output.strip()


class Door(Protocol):
    """Starts the entry point."""

    def run(self, argv: Sequence[str], wait: Seconds) -> Called:
        """Block until it has ended, or was killed at the end of its wait."""
        ...

    def kill_all(self) -> None:
        """Kill what is running, as the end of the server's control group does."""
        ...


@dataclass(slots=True)
class Children:
    """`Door` for real processes: no shell, a silent open pipe as input, one pipe for both outputs.

    Attributes:
        held_s: How long a held output is waited for; None: as long again as the call's wait, as
            the server's caller does (seen g2).
    """

    held_s: float | None = None
    _running: "dict[int, subprocess.Popen[bytes]]" = field(default_factory=dict)

    def run(self, argv: Sequence[str], wait: Seconds) -> Called:
        """Start, wait, kill the direct child alone, then read: in the server's order."""
        began = time.monotonic()
        pipe, merged = subprocess.PIPE, subprocess.STDOUT
        try:
            child = subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=merged)
        except OSError:
            return Called(exit=None, output="", seconds=0.0, failure=NOT_EXECUTABLE)
        self._running[child.pid] = child
        assert child.stdin is not None
        assert child.stdout is not None
        with child.stdin, child.stdout:
            if not _ends(child.pid, wait):
                child.kill()
                child.wait()
                del self._running[child.pid]
                seconds = time.monotonic() - began
                return Called(exit=None, output="", seconds=seconds, failure=TIMEOUT)
            code, seconds = child.wait(), time.monotonic() - began
            del self._running[child.pid]
            text, held = _read(child.stdout, wait if self.held_s is None else self.held_s)
        return ended(code, text, seconds, held=held)

    def kill_all(self) -> None:
        """SIGKILL to each direct child."""
        for child in tuple(self._running.values()):
            child.kill()  # nothing where it has ended


def ended(code: int, text: bytes, seconds: float, *, held: bool = False) -> Called:
    """What the server makes of an exit status and an output (seen e, r)."""
    output = text.decode("utf-8", "replace")
    failure = f"Exit code: {code}, Output: {output.strip()}" if code else ""
    if held:
        failure = HELD
    return Called(exit=code, output=output, seconds=seconds, failure=failure, held=held)


@dataclass(slots=True)
class EntryPoint:
    """One extension's entry point on one management server.

    Attributes:
        argv: Of the entry point, without verb, payload and wait.
        folder: Where payload files are written; made when it is not there.
        door: What starts it.
    """

    argv: Sequence[str]
    folder: Path
    door: Door = field(default_factory=Children)
    _threads: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(DIRECT_AGENTS))

    def call(self, verb: str, payload: bytes, wait: int) -> Called:
        """Run the entry for one verb; blocks.

        Args:
            verb: argv[1], or an action's or a Java class name.
            payload: Written to a file of mode 0644, which only a successful `status` takes away
                again (seen h.7).
            wait: Seconds until the entry is killed; argv[3].
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{uuid.uuid4()}.json"
        path.write_bytes(payload)
        path.chmod(0o644)
        called = self.door.run([*self.argv, verb, str(path), str(wait)], Seconds(float(wait)))
        if verb == "status" and not called.failure:
            path.unlink(missing_ok=True)
        return called

    async def ask(self, verb: str, payload: bytes, wait: int) -> Called:
        """The same without holding the loop; calls run side by side (seen s)."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self.call, verb, payload, wait)


def _ends(pid: int, wait: float) -> bool:
    """Whether it ends in time; a zombie until somebody asks for its status."""
    descriptor = os.pidfd_open(pid)
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        return bool(poll.poll(wait * 1000))
    finally:
        os.close(descriptor)


def _read(pipe: IO[bytes], patience: float) -> tuple[bytes, bool]:
    """To the end; whether somebody else held it open for longer than that."""
    pieces, until = list[bytes](), time.monotonic() + patience
    descriptor = pipe.fileno()
    poll = select.poll()
    poll.register(descriptor, select.POLLIN | select.POLLHUP)
    while poll.poll(max(until - time.monotonic(), 0.0) * 1000):
        piece = os.read(descriptor, 65536)
        if not piece:
            return b"".join(pieces), False
        pieces.append(piece)
    return b"".join(pieces), True
