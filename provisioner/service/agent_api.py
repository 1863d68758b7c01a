"""The agent's API: a token says which boot speaks, and a boot is told its orders only.

Nothing that an agent sends is used as markup, as a path, or as a word of a command.
"""

import asyncio
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from provisioner.about import learned
from provisioner.boot.token import digest
from provisioner.errors import ConflictError, ErrorCode, InputError, TransientError
from provisioner.ports.boots import AgentOrders, Boots, Seeds
from provisioner.ports.clock import Clock
from provisioner.secret import Secret
from provisioner.servers.operation import AgentOrder, Boot
from provisioner.service.agent_bodies import (
    MOST_NOTE,
    AgentSelf,
    Hello,
    hello_of,
    lines_of,
    printable,
    progress_of,
    result_of,
)
from provisioner.service.body import read_json
from provisioner.service.progress import ProgressBook
from provisioner.service.rate import Rate
from provisioner.service.replies import application
from provisioner.store.waiting import stored
from provisioner.units import OperationId, Seconds

MOST_BYTES: Final = 1024 * 1024
MOST_JOURNAL_BYTES: Final = 64 * 1024
POLL_S: Final = 20.0
LOOK_EVERY: Final = Seconds(0.5)
PER_SECOND, BURST = 50.0, 200.0
HELLO: Final = "hello"
"""Kind and step of the order that nobody gave: it keeps what a boot's agent said of itself."""
ALARM: Final = "alarm:token"


class Rings(Protocol):
    """Wakes whoever waits for an agent."""

    def ring(self, operation: OperationId, what: str) -> None:
        """Record an arrival; from any thread, as often as one likes."""
        ...

    def heard(self, operation: OperationId) -> None:
        """The agent of this operation is alive."""
        ...


class Notes(Protocol):
    """The one thing of ports.Operations that progress needs."""

    def note(self, operation: OperationId, text: str, progress_bytes: tuple[int, int]) -> None:
        """Progress, as the agent acknowledged it."""
        ...


class AgentJournal(Protocol):
    """Where an operation keeps what its agent tells."""

    def append(self, operation: OperationId, lines: tuple[str, ...]) -> None:
        """Printable lines; what is too much for the record is dropped there."""
        ...


@dataclass(slots=True, kw_only=True)
class AgentApi:
    """The application's parts.

    Attributes:
        stopping: Set when the service is about to end: polls are answered at once.
        held: Why no agent is told anything now (invariant 16), "" otherwise.
    """

    boots: Boots
    orders: AgentOrders
    seeds: Seeds
    operations: Notes
    bell: Rings
    journal: AgentJournal
    clock: Clock
    stopping: asyncio.Event
    held: str = ""
    rate: Rate = field(init=False)
    book: ProgressBook = field(init=False)

    def __post_init__(self) -> None:
        self.rate = Rate(self.clock, PER_SECOND, BURST)
        self.book = ProgressBook(self.clock)

    def app(self) -> Starlette:
        """The application; to be served over TLS only."""
        return application(
            [
                Route("/agent/v1/hello", self._hello, methods=["POST"]),
                Route("/agent/v1/order", self._order, methods=["GET"]),
                Route("/agent/v1/progress", self._progress, methods=["POST"]),
                Route("/agent/v1/result", self._result, methods=["POST"]),
                Route("/agent/v1/journal", self._journal, methods=["POST"]),
                Route("/agent/v1/seed", self._seed, methods=["GET"]),
            ]
        )

    async def _boot(self, request: Request) -> Boot:
        """The boot whose token this is.

        Raises:
            InputError: TOKEN_REFUSED: none, or one whose operation has ended.
            TransientError: TOO_MANY_REQUESTS; SERVICE_HELD: its orders are an old memory's.
        """
        self.rate.take(request.client.host if request.client else "")
        if self.held:
            raise TransientError(ErrorCode.SERVICE_HELD, "the service is held")
        word, _, token = request.headers.get("authorization", "").partition(" ")
        boot = None
        if word.lower() == "bearer" and token:
            boot = await stored(self.boots.boot_of_token, digest(Secret(token.strip())))
        if boot is None:
            raise InputError(ErrorCode.TOKEN_REFUSED, "no boot with this token is under way")
        learned(server=boot.server, operation=boot.operation, epoch=boot.epoch)
        self.bell.heard(boot.operation)
        return boot

    async def _hello(self, request: Request) -> Response:
        boot = await self._boot(request)
        hello = hello_of(await read_json(request, MOST_BYTES, mend=True))
        known = await stored(self.orders.put_order, _hello_order(boot))
        if known.ok is None:
            answer = replace(known, ok=True, result=_said(hello))
            await stored(self.orders.answer_order, answer)
            now = self.clock.wall()
            await stored(self.boots.change_boot, boot.operation, called_in_at=now)
        elif _boot_id(known.result) != hello.agent.boot_id:
            await stored(self.bell.ring, boot.operation, ALARM)
            text = "another machine called in with this token before"
            raise InputError(ErrorCode.TOKEN_REFUSED, text)
        await stored(self.bell.ring, boot.operation, "agent")
        return JSONResponse(
            {"operation": boot.operation, "epoch": boot.epoch, "server": boot.server}
        )

    async def _order(self, request: Request) -> Response:
        boot = await self._boot(request)
        after = _number(request.query_params.get("after", "0"))
        until = self.clock.monotonic() + POLL_S
        while True:
            order = await stored(self.orders.next_order, boot.operation, after)
            if order is not None and order.kind != HELLO:
                return JSONResponse(_order_body(order))
            if self.stopping.is_set() or self.clock.monotonic() >= until:
                return Response(status_code=204)
            await self.clock.sleep(LOOK_EVERY)

    async def _progress(self, request: Request) -> Response:
        boot = await self._boot(request)
        progress = progress_of(await read_json(request, MOST_BYTES, mend=True))
        _same_epoch(boot, progress.epoch)
        total = self.book.add(boot.operation, progress)
        if total is not None:
            note = printable(progress.note, MOST_NOTE)
            await stored(self.operations.note, boot.operation, note, total)
        return Response(status_code=204)

    async def _result(self, request: Request) -> Response:
        """Answers the order of that number; one that is answered already is left as it is.

        Whoever waits is rung after the answer is stored, so what is heard can be read. Should
        the ring be lost, the waiter finds the answer at its next look.
        """
        boot = await self._boot(request)
        result = result_of(await read_json(request, MOST_BYTES, mend=True))
        _same_epoch(boot, result.epoch)
        order = await stored(self.orders.next_order, boot.operation, result.order - 1)
        if order is None or order.number != result.order:
            return Response(status_code=204)
        failure = result.error
        answer = replace(
            order,
            ok=result.ok,
            result=result.result,
            error_code="" if failure is None else printable(failure.code, 64),
            error_text="" if failure is None else printable(failure.text, 1024),
        )
        await stored(self.orders.answer_order, answer)
        if order.kind == "write_seed" and result.ok:
            await stored(self.seeds.drop_seed, boot.operation)
        await stored(self.bell.ring, boot.operation, f"result:{order.step}")
        return Response(status_code=204)

    async def _journal(self, request: Request) -> Response:
        boot = await self._boot(request)
        lines = lines_of(await read_json(request, MOST_JOURNAL_BYTES, mend=True))
        await asyncio.to_thread(self.journal.append, boot.operation, lines)
        return Response(status_code=204)

    async def _seed(self, request: Request) -> Response:
        """To this boot alone, while it is told to write it: not before, never afterwards."""
        boot = await self._boot(request)
        order = await stored(self.orders.next_order, boot.operation, 0)
        if order is None or order.kind != "write_seed" or order.epoch != boot.epoch:
            raise InputError(ErrorCode.PERMISSION, "no order to write a seed is open")
        seed = await stored(self.seeds.seed, boot.operation)
        if seed is None:
            raise InputError(ErrorCode.PERMISSION, "the seed was handed out and is gone")
        return Response(seed, media_type="application/octet-stream")


def _hello_order(boot: Boot) -> AgentOrder:
    return AgentOrder(
        operation=boot.operation,
        step=HELLO,
        number=0,
        epoch=boot.epoch,
        kind=HELLO,
        parameters={},
    )


def _said(hello: Hello) -> dict[str, Any]:
    agent: AgentSelf = hello.agent
    return {
        "facts": hello.facts.to_json(),
        "agent": {"version": agent.version, "boot_id": agent.boot_id},
    }


def _boot_id(result: dict[str, Any]) -> str:
    return str(result["agent"]["boot_id"])


def _order_body(order: AgentOrder) -> dict[str, Any]:
    return {
        "order": order.number,
        "epoch": order.epoch,
        "kind": order.kind,
        "parameters": order.parameters,
    }


def _same_epoch(boot: Boot, epoch: int) -> None:
    if epoch != boot.epoch:
        text = f"epoch {epoch} is over, this boot is of epoch {boot.epoch}"
        raise ConflictError(ErrorCode.EPOCH_DIFFERS, text)


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < len(str(2**63))):
        raise InputError(ErrorCode.PAYLOAD_FIELD, "after: a whole number is expected")
    return int(text)
