"""An agent in memory: boots with its machine, answers orders well, and otherwise as told.

It speaks with the service's records instead of its API, in the API's order: an answer is
stored first and rung for afterwards.
"""

import asyncio
import hashlib
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from provisioner.hardware.inventory import Inventory
from provisioner.operations.ideal_agent import IdealAgent
from provisioner.ports.boots import AgentOrders, Boots, Seeds
from provisioner.ports.controllers import BootDevice, PowerAct
from provisioner.servers.model import Placement, Power, ServerRecord
from provisioner.servers.operation import AgentOrder, Boot
from provisioner.testing.controller import FakeMachine
from provisioner.testing.ports import FakeOffers, FakePorts
from provisioner.units import MacAddress, OperationId, Seconds

POLL = Seconds(2.0)
GIVES_UP = Seconds(60.0)
HELLO = "hello"

_boots = itertools.count(1)


class Rings(Protocol):
    """Who is told of arrivals."""

    def ring(self, operation: OperationId, what: str) -> None:
        """Record an arrival."""
        ...

    def heard(self, operation: OperationId) -> None:
        """The agent of this operation is alive."""
        ...


@dataclass(slots=True, kw_only=True)
class FakeAgent:
    """What runs on one machine after each start from the network.

    Attributes:
        record: Of its server; says what a good agent finds and erases.
        bell: Rung and told; another one after a restart of the service.
        facts: What it finds instead of the baseline.
        takes_s: From an order to its answer.
        boots_s: From power-on to its call-in.
        silent_from: The kind of order from which on nothing is heard; "hello": it never calls in.
        fails: Kind -> code and text of its error.
        bends: Kind -> what becomes of a good result: a lie, or other hardware.
        stays: It does not switch its machine off when told to.
        done: Kinds that were answered well, in order, over all boots.
        seeds: What it wrote as seed.
    """

    machine: FakeMachine
    record: Callable[[], ServerRecord]
    boots: Boots
    orders: AgentOrders
    seed_store: Seeds
    bell: Rings
    ports: FakePorts
    offers: FakeOffers
    facts: Inventory | None = None
    takes_s: float = 1.0
    boots_s: float = 20.0
    silent_from: str = ""
    fails: dict[str, tuple[str, str]] = field(default_factory=dict)
    bends: dict[str, Callable[[dict[str, Any]], Mapping[str, Any]]] = field(default_factory=dict)
    stays: bool = False
    done: list[str] = field(default_factory=list)
    seeds: list[bytes] = field(default_factory=list)
    _life: asyncio.Task[None] | None = None

    def on_power(self, power: Power) -> None:
        """As FakeMachine tells it: begin with a start from the network, end with the power."""
        if self._life is not None:
            self._life.cancel()
            self._life = None
        if power is Power.ON and self.machine.booted_from[-1] is BootDevice.NETWORK:
            self._life = asyncio.get_running_loop().create_task(self._live())

    async def go_on(self) -> None:
        """Its machine runs already, and so did it, in another memory than this one."""
        boot = self.boots.boot_of_mac(self.record().provisioning_nic().mac)
        told = boot is not None and boot.called_in_at is not None
        again = self._serve(boot) if boot is not None and told else self._live()
        self._life = asyncio.get_running_loop().create_task(again)

    async def _live(self) -> None:
        await self._sleep(self.boots_s)
        nic = self.record().provisioning_nic()
        boot = await self._script(nic.mac, nic.port)
        if boot is None or self.silent_from == HELLO:
            return
        self._hello(boot)
        await self._serve(boot)

    async def _serve(self, boot: Boot) -> None:
        finished = 0
        while self.boots.boot_of_token(boot.token_sha256) is not None:
            self.bell.heard(boot.operation)
            order = self.orders.next_order(boot.operation, finished)
            if order is None:
                await self._sleep(POLL)
                continue
            if order.kind == self.silent_from:
                return
            await self._sleep(self.takes_s)
            finished = order.number
            ok = self._answer(boot, order)
            if order.kind == "power_off" and ok and not self.stays:
                self.machine.press(PowerAct.OFF)
            if order.kind == "rescue" and ok:
                return  # nothing of ours runs any more, and the machine stays on
        await self._sleep(GIVES_UP)  # its token is refused: nobody wants it any more
        self.machine.press(PowerAct.OFF)

    async def _script(self, mac: MacAddress, port: str) -> Boot | None:
        """The boot's script, asked for once a second as the firmware does; None: no such luck."""
        token = hashlib.sha256(f"boot {next(_boots)}".encode()).hexdigest()
        for _ in range(60):
            reached = self.ports.leads(port).placement is Placement.PROVISIONING
            if reached and mac in self.offers.offered:
                now = self.machine.clock.wall()
                if self.boots.hand_out(mac, token, now=now):
                    return self.boots.boot_of_token(token)
            await self._sleep(1.0)
        return None

    def _hello(self, boot: Boot) -> None:
        hello = AgentOrder(
            operation=boot.operation,
            step=HELLO,
            number=0,
            epoch=boot.epoch,
            kind=HELLO,
            parameters={},
        )
        self.orders.answer_order(
            replace(self.orders.put_order(hello), ok=True, result=self._good(hello))
        )
        self.boots.change_boot(boot.operation, called_in_at=self.machine.clock.wall())
        self.bell.ring(boot.operation, "agent")

    def _answer(self, boot: Boot, order: AgentOrder) -> bool:
        code, text = self.fails.get(order.kind, ("", ""))
        answer = replace(order, ok=False, error_code=code, error_text=text)
        if not code:
            answer = replace(order, ok=True, result=self._good(order))
        if order.kind == "write_seed" and not code:
            self._take_seed(boot.operation)
        self.orders.answer_order(answer)
        if answer.ok:
            self.done.append(order.kind)
        self.bell.ring(boot.operation, f"result:{order.step}")
        return bool(answer.ok)

    def _take_seed(self, operation: OperationId) -> None:
        """Fetched, written and acknowledged: from here on the service has none."""
        seed = self.seed_store.seed(operation)
        if seed is not None:
            self.seeds.append(seed)
            self.seed_store.drop_seed(operation)

    def _good(self, order: AgentOrder) -> dict[str, Any]:
        record = self.record()
        found = replace(record, baseline=self.facts or record.baseline)
        ideal = IdealAgent(server=found, ends=lambda: None)  # when it went off is told later
        nonce = self.machine.nonce
        result = ideal.result(order, nonce.hex() if nonce is not None else "")
        if order.kind == "read_nonce" and nonce is None:
            result = {"nonce": None}
        bend = self.bends.get(order.kind)
        return result if bend is None else dict(bend(result))

    async def _sleep(self, seconds: float) -> None:
        await self.machine.clock.sleep(Seconds(seconds))
