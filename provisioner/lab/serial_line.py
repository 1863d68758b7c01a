"""The cable between a server's serial port and its controller, as slow as a real one.

usage: serial_line.py PORT SOCKET
    The controller calls PORT on loopback and stays; the server's QEMU calls the Unix socket at
    each power-on. Standard library only: runs by file, beside ipmi_sim.

Quirk: OpenIPMI 2.0.33's ipmi_sim now and then never calls again after the other end was closed,
and what comes faster than a serial line can carry it drops.
"""

import asyncio
import contextlib
import sys
from pathlib import Path

BYTES_A_SECOND = 115_200 / 10
"""Ten bits a byte: one to start, one to stop."""
PART = 48
"""So much at a time: a longer burst overruns ipmi_sim."""
KEPT = 1 << 20
"""So much waits where a server is quicker than the line; the rest is lost, as on a real one."""


class SerialLine:
    """One server's line; either end may come and go."""

    def __init__(self) -> None:
        self._waiting = bytearray()
        self._comes = asyncio.Event()
        self._controller: asyncio.StreamWriter | None = None
        self._machine: asyncio.StreamWriter | None = None

    async def controller(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """The controller's end: the newest caller has it."""
        self._controller = writer
        with contextlib.suppress(OSError):
            while part := await reader.read(4096):
                if self._machine is not None:
                    self._machine.write(part)
        if self._controller is writer:
            self._controller = None
        writer.close()

    async def machine(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """The server's end, while it is on."""
        self._machine = writer
        with contextlib.suppress(OSError):
            while part := await reader.read(4096):
                self._waiting += part[: KEPT - len(self._waiting)]
                self._comes.set()
        if self._machine is writer:
            self._machine = None
        writer.close()

    async def carry(self) -> None:
        """For ever: from the server to the controller, at the line's speed."""
        while True:
            if not self._waiting:
                self._comes.clear()
                await self._comes.wait()
            part = bytes(self._waiting[:PART])
            del self._waiting[:PART]
            if self._controller is not None:
                self._controller.write(part)
            await asyncio.sleep(len(part) / BYTES_A_SECOND)


async def run(port: int, socket: Path) -> None:
    """Until it is killed."""
    line = SerialLine()
    await asyncio.start_server(line.controller, "127.0.0.1", port)
    socket.unlink(missing_ok=True)
    await asyncio.start_unix_server(line.machine, socket)
    await line.carry()


if __name__ == "__main__":
    asyncio.run(run(int(sys.argv[1]), Path(sys.argv[2])))
