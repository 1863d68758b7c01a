"""The agent's life: say hello, ask for orders, carry out one at a time, answer.

Everything survives a lost connection and a restarted service: calls are repeated until they
are answered, and an order that comes again is answered again without being done again.

Standard library only.
"""

import json
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from provisioner.agent.calls import CONFLICT, MOST_BODY_BYTES, Answer, Calls
from provisioner.agent.order import Link, Order, OrderFailedError
from provisioner.agent.reports import Reports
from provisioner.hardware.inventory import Inventory

VERSION = "1"
_DONE = 200
_NOTHING = 204
_MOST_REMEMBERED = 64
_MOST_TEXT = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """An order as it came."""

    number: int
    epoch: int
    kind: str
    parameters: Mapping[str, Any]


class AgentLoop:
    """One boot of one server."""

    def __init__(
        self,
        calls: Calls,
        reports: Reports,
        link: Link,
        *,
        orders: Mapping[str, Order],
        last_acts: Mapping[str, Callable[[], None]],
    ) -> None:
        """Nothing goes out yet.

        Args:
            calls: The service.
            reports: Whose progress belongs to the order that runs.
            link: Handed to each order.
            orders: By kind.
            last_acts: By kind: what follows only when the service has the order's result.
        """
        self._calls = calls
        self._reports = reports
        self._link = link
        self._orders = orders
        self._last_acts = last_acts
        self._answered: OrderedDict[int, dict[str, Any]] = OrderedDict()
        self._finished = 0
        self._epoch = 0

    def run(self, facts: Inventory, boot_id: str) -> None:
        """Until the machine goes off or the token is refused.

        Raises:
            RefusedError: The service refuses this boot's token for good.
        """
        self.hello(facts, boot_id)
        while True:
            self.turn()

    def hello(self, facts: Inventory, boot_id: str) -> None:
        """Say what this machine is, until the service says whose operation it belongs to."""
        agent = {"version": VERSION, "boot_id": boot_id}
        body = {"facts": facts.to_json(), "agent": agent}
        answer = self._calls.insist("POST", "/agent/v1/hello", body)
        while not _is_welcome(answer):
            self._calls.rest()
            answer = self._calls.insist("POST", "/agent/v1/hello", body)
        self._epoch = answer.body["epoch"]
        who = f"{answer.body.get('server')} in operation {answer.body.get('operation')}"
        self._link.journal(f"called in as {who}, epoch {self._epoch}")

    def turn(self) -> None:
        """Ask once for an order; carry it out, or answer it again; go to rest without one."""
        answer = self._calls.insist("GET", f"/agent/v1/order?after={self._finished}")
        given = parse_order(answer.body) if answer.status == _DONE else None
        if given is None:
            if answer.status != _NOTHING:
                self._calls.rest()
            return
        known = self._answered.get(given.number)
        result = known if known is not None else self._carry_out(given)
        self._remember(given.number, result)
        closed = self._calls.insist("POST", "/agent/v1/result", result).status == CONFLICT
        self._finished = max(self._finished, given.number)
        if result["ok"] and not closed and given.kind in self._last_acts:
            self._last_acts[given.kind]()

    def _carry_out(self, given: Given) -> dict[str, Any]:
        """The result to post. One order at a time; while it runs, another thread reports."""
        self._link.journal(f"order {given.number}: {given.kind}")
        from concurrent.futures import ThreadPoolExecutor  # not before the hello: it is slow

        self._reports.begin(given.number, given.epoch)
        with ThreadPoolExecutor(max_workers=1, thread_name_prefix="order") as thread:
            running = thread.submit(self._perform, given)
            failure = running.exception()
        self._reports.end()
        if failure is not None:
            error = _error_of(failure)
            self._link.journal(f"order {given.number} failed: {error['code']}: {error['text']}")
            return _result(given, error=error)
        self._link.journal(f"order {given.number} done")
        return _bounded(_result(given, result=running.result()), given)

    def _perform(self, given: Given) -> dict[str, Any]:
        if given.epoch != self._epoch:
            raise OrderFailedError("EPOCH_DIFFERS", f"epoch {given.epoch}, not {self._epoch}")
        if given.kind not in self._orders:
            raise OrderFailedError("ORDER_UNKNOWN", f"this agent has no order {given.kind[:64]}")
        return self._orders[given.kind](given.parameters, self._link)

    def _remember(self, number: int, result: dict[str, Any]) -> None:
        self._answered[number] = result
        while len(self._answered) > _MOST_REMEMBERED:
            self._answered.popitem(last=False)


def parse_order(body: object) -> Given | None:
    """An order; None for anything that is not one."""
    match body:
        case {
            "order": int(number),
            "epoch": int(epoch),
            "kind": str(kind),
            "parameters": dict(parameters),
        } if number > 0 and not isinstance(number, bool) and not isinstance(epoch, bool):
            return Given(number=number, epoch=epoch, kind=kind, parameters=parameters)
        case _:
            return None


def _is_welcome(answer: Answer) -> bool:
    body = answer.body
    return answer.status == _DONE and isinstance(body, dict) and type(body.get("epoch")) is int


def _error_of(failure: BaseException) -> dict[str, str]:
    if isinstance(failure, OrderFailedError):
        return {"code": failure.code, "text": failure.text[:_MOST_TEXT]}
    # a fault of the agent's own: its kind and words are all that the service can use
    return {"code": "AGENT_FAILED", "text": f"{type(failure).__name__}: {failure}"[:_MOST_TEXT]}


def _result(
    given: Given,
    *,
    result: dict[str, Any] | None = None,
    error: dict[str, str] | None = None,
) -> dict[str, Any]:
    return {
        "order": given.number,
        "epoch": given.epoch,
        "ok": error is None,
        "error": error,
        "result": result or {},
    }


def _bounded(result: dict[str, Any], given: Given) -> dict[str, Any]:
    """The result, unless the service would refuse it for its length."""
    if len(json.dumps(result)) < MOST_BODY_BYTES:
        return result
    text = f"the result of {given.kind} is longer than {MOST_BODY_BYTES} bytes"
    return _result(given, error={"code": "AGENT_FAILED", "text": text})
