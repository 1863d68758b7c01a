"""The only module that starts local processes; none of them outlives this one.

Each child runs under `setpriv --pdeathsig KILL` in a session of its own: it dies with the
thread that started it (the event loop's), and its whole group dies at the limit.
"""

import asyncio
import contextlib
import logging
import os
import pty
import shlex
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any

from provisioner.ports.processes import GIVEN_FILE, Ended
from provisioner.units import Seconds

log = logging.getLogger(__name__)

GUARD = ("setpriv", "--pdeathsig", "KILL", "--")
ENVIRON = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C"}
"""All that a child gets of an environment, unless the caller adds to it."""
MOST_OUTPUT = 16 * 1024 * 1024
"""Bytes kept of each output; a child that writes on is read to its end and forgotten."""
MOST_LINE = 1024 * 1024
DRAIN_S = 1.0


class LocalProcesses:
    """ports.Processes and ports.Children over asyncio."""

    async def run(
        self,
        argv: Sequence[str],
        *,
        limit: Seconds,
        environ: Mapping[str, str] | None = None,
        given: bytes = b"",
    ) -> Ended:
        """Run without a shell; `given` is its standard input (a file in memory, no pipe).

        A program that is not there ends with status 127 and setpriv's message.

        Raises:
            TimeoutError: The limit passed; nothing of the child's group is left.
        """
        log.debug("run %s", shlex.join(argv))
        with _in_memory(given) as source:
            process = await _begin(
                argv,
                stdin=source,
                stdout=PIPE,
                stderr=PIPE,
                env={**ENVIRON, **(environ or {})},
            )
        try:
            async with asyncio.timeout(limit):
                output, error = await asyncio.gather(
                    _read(process.stdout, MOST_OUTPUT), _read(process.stderr, MOST_OUTPUT)
                )
                status = await process.wait()
        finally:
            await _end(process)
        return Ended(status=status, output=output, error=error)

    async def start(
        self, argv: Sequence[str], *, terminal: bool = False, given: bytes = b""
    ) -> "LocalChild":
        """Start a child that stays; its standard error goes nowhere unless it has a terminal."""
        log.debug("start %s", shlex.join(argv))
        with _in_memory(given) as secret:
            words = [_path(secret) if word == GIVEN_FILE else word for word in argv]
            passed = (secret.fileno(),) if GIVEN_FILE in argv else ()
            if terminal:
                return await _start_on_terminal(words, passed)
            process = await _begin(
                words,
                stdin=PIPE,
                stdout=PIPE,
                stderr=DEVNULL,
                env=ENVIRON,
                pass_fds=passed,
                limit=MOST_LINE,
            )
        assert process.stdout is not None
        return LocalChild(process, process.stdout)


class LocalChild:
    """ports.Child; made by LocalProcesses.

    Args:
        process: The child.
        reader: Its output, or its terminal's.
        terminal: Our side of its terminal; closed at the end.
    """

    def __init__(
        self,
        process: Process,
        reader: asyncio.StreamReader,
        terminal: asyncio.ReadTransport | None = None,
        master: int = -1,
    ) -> None:
        self._process, self._reader = process, reader
        self._terminal, self._master = terminal, master

    async def say(self, given: bytes) -> None:
        """Write; ConnectionError once it has ended."""
        if self._terminal is not None:
            if self._terminal.is_closing():
                raise BrokenPipeError("the child's terminal is closed")
            os.write(self._master, given)
            return
        assert self._process.stdin is not None
        self._process.stdin.write(given)
        await self._process.stdin.drain()

    async def hear(self, most: int) -> bytes:
        """Its next bytes; b"" once it has ended."""
        try:
            return await self._reader.read(most)
        except OSError:  # a terminal says EIO where a pipe says nothing more
            return b""

    async def hear_line(self, most: int) -> bytes:
        """One line; ValueError where it is longer than `most`."""
        try:
            line = await self._reader.readuntil(b"\n")
        except asyncio.IncompleteReadError as error:
            line = error.partial
        except asyncio.LimitOverrunError as error:
            raise ValueError(f"a line of more than {most} bytes") from error
        if len(line) > most:
            raise ValueError(f"a line of more than {most} bytes")
        return line

    async def end(self) -> None:
        """Kill its group, wait, and close what leads to it."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        await _end(self._process)
        if self._terminal is not None:
            self._terminal.close()


async def _begin(argv: Sequence[str], **more: Any) -> Process:  # noqa: ANN401 asyncio's own
    """In a session of its own; whoever is cancelled meanwhile leaves nothing behind.

    asyncio would end the child alone, not what the child has started already.
    """
    beginning = asyncio.ensure_future(
        asyncio.create_subprocess_exec(*GUARD, *argv, start_new_session=True, **more)
    )
    try:
        return await asyncio.shield(beginning)
    except asyncio.CancelledError:
        await _end(await beginning)
        raise


async def _start_on_terminal(words: Sequence[str], passed: tuple[int, ...]) -> LocalChild:
    master, slave = pty.openpty()
    try:
        process = await _begin(
            words,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**ENVIRON, "TERM": "dumb"},
            pass_fds=passed,
        )
    except BaseException:
        os.close(master)
        raise
    finally:
        os.close(slave)
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=MOST_LINE)
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(master, "rb", buffering=0)
    )
    return LocalChild(process, reader, transport, master)


@contextlib.contextmanager
def _in_memory(given: bytes) -> Iterator[IO[bytes]]:
    """A file without a name: no pipe to fill, nothing on a disk, gone with its last reader."""
    with os.fdopen(os.memfd_create("given"), "w+b") as file:
        file.write(given)
        file.seek(0)
        yield file


def _path(file: IO[bytes]) -> str:
    return f"/proc/self/fd/{file.fileno()}"


async def _read(stream: asyncio.StreamReader | None, most: int) -> bytes:
    assert stream is not None
    kept = bytearray()
    while part := await stream.read(65536):
        kept += part[: most - len(kept)]
    return bytes(kept)


async def _end(process: Process) -> None:
    """Nothing of the group is left, whether it ended by itself or not."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
    # A transport closes only when its pipes were read to their end; one that a process outside
    # the group holds open is given up.
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(DRAIN_S):
            for stream in (process.stdout, process.stderr):
                if stream is not None:
                    await _read(stream, 0)
