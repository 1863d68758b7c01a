"""The IPMI door through pyghmi, which lives in worker processes (bmc_ipmi_worker).

A worker that closed its session well is kept for the next conversation, with any controller:
starting one costs 0.15 s of a core, a power loop over many servers could not pay that. One that
failed, or was interrupted, is killed.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from provisioner.errors import ErrorCode, OperatorError, RackwrightError, TransientError
from provisioner.ports.processes import Child, Children
from provisioner.secret import Secret
from provisioner.servers.ipmi import IpmiAnswer, IpmiRequest
from provisioner.servers.model import ControllerAddress

WORKER = (sys.executable, "-I", str(Path(__file__).with_name("bmc_ipmi_worker.py")))
MOST_LINE = 65536
MOST_IDLE = 8
E = ErrorCode
SAYS: Sequence[tuple[str, type[RackwrightError], ErrorCode, str]] = (
    ("Incorrect password", OperatorError, E.CONTROLLER_PASSWORD, "refuses the password"),
    ("Unauthorized name", OperatorError, E.CONTROLLER_PASSWORD, "does not know the user"),
    ("Insufficient resources", TransientError, E.CONTROLLER_BUSY, "has no free session"),
    ("Unauthorized role", OperatorError, E.CONTROLLER_REFUSED, "gives the user no such right"),
    ("Invalid role", OperatorError, E.CONTROLLER_REFUSED, "refuses this cipher suite or role"),
    ("algorithm", OperatorError, E.CONTROLLER_REFUSED, "refuses this cipher suite"),
    ("cipher suite", OperatorError, E.CONTROLLER_REFUSED, "refuses this cipher suite"),
    ("IpmiException: None", TransientError, E.CONTROLLER_UNREACHABLE, "does not answer"),
    ("timeout", TransientError, E.CONTROLLER_UNREACHABLE, "does not answer"),
    ("no longer connected", TransientError, E.CONTROLLER_UNREACHABLE, "does not answer any more"),
    ("gaierror", TransientError, E.CONTROLLER_UNREACHABLE, "has no address"),
    ("Unable to transmit", TransientError, E.CONTROLLER_UNREACHABLE, "has no address"),
)
"""pyghmi's words. Source: pyghmi 1.6.19, ipmi/private/session.py and constants.rmcp_codes."""


class PyghmiWorkers:
    """Workers, started when needed, kept while idle.

    Args:
        children: Starts them; they die with the service.
    """

    def __init__(self, children: Children) -> None:
        self._children = children
        self._idle: list[Child] = []

    async def take(self) -> Child:
        """An idle one, or a new one."""
        if self._idle:
            return self._idle.pop()
        return await self._children.start(WORKER)

    async def give(self, worker: Child) -> None:
        """Back, without a session."""
        if len(self._idle) < MOST_IDLE:
            self._idle.append(worker)
        else:
            await worker.end()

    async def close(self) -> None:
        """End all idle ones."""
        while self._idle:
            await self._idle.pop().end()


class PyghmiDoor:
    """bmc_ipmi.IpmiDoor over one worker and one session, opened by the first request."""

    def __init__(
        self, address: ControllerAddress, password: Secret, workers: PyghmiWorkers
    ) -> None:
        self._address, self._password, self._workers = address, password, workers
        self._worker: Child | None = None
        self._suite: int | None = None

    async def ask(self, request: IpmiRequest) -> IpmiAnswer:
        """One request; a failure or an interruption ends worker and session."""
        whole = False
        try:
            if self._worker is None:
                await self._open()
            got = await self._talk({"ask": [request.netfn, request.command, request.data.hex()]})
            answer = self._answer(got)
            whole = True
            return answer
        finally:
            if not whole:
                await self._drop()

    def cipher_suite(self) -> int | None:
        """The one that pyghmi and the controller agreed on."""
        return self._suite

    async def close(self) -> None:
        """Log out; the worker is kept when that went well."""
        if self._worker is None:
            return
        try:
            await self._talk({"close": True})
            worker, self._worker = self._worker, None
            await self._workers.give(worker)
        except RackwrightError:
            pass  # the controller forgets a session by itself
        finally:
            await self._drop()

    async def _open(self) -> None:
        self._worker = await self._workers.take()
        to = {
            "host": self._address.host,
            "port": self._address.port,
            "user": self._address.user,
            "password": self._password.reveal(),
        }
        got = await self._talk({"open": to})
        self._suite = got.get("suite")

    async def _talk(self, line: Mapping[str, Any]) -> Mapping[str, Any]:
        assert self._worker is not None
        try:
            await self._worker.say(json.dumps(line).encode() + b"\n")
            got = json.loads(await self._worker.hear_line(MOST_LINE))
        except (ConnectionError, ValueError) as error:
            raise self._failed(
                "the worker ended", TransientError, E.CONTROLLER_UNREACHABLE
            ) from error
        if "error" in got:
            raise self._said(got["error"])
        return dict(got)

    def _answer(self, got: Mapping[str, Any]) -> IpmiAnswer:
        return IpmiAnswer(code=got["code"], data=bytes.fromhex(got["data"]))

    def _said(self, words: str) -> RackwrightError:
        for known, kind, code, brief in SAYS:
            if known in words:
                return self._failed(brief, kind, code, words)
        return self._failed("answers nonsense", OperatorError, E.CONTROLLER_NONSENSE, words)

    def _failed(
        self, brief: str, kind: type[RackwrightError], code: ErrorCode, detail: str = ""
    ) -> RackwrightError:
        return kind(code, f"controller {self._address.host}:{self._address.port} {brief}", detail)

    async def _drop(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            await worker.end()
