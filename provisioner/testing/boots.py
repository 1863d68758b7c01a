"""Boots, orders and seeds in memory, for those who serve agents."""

from dataclasses import dataclass, field, replace
from typing import Any

from provisioner.servers.operation import AgentOrder, Boot
from provisioner.units import OperationId, ServerName, WallSeconds


@dataclass(slots=True)
class MemoryBoots:
    """ports.Boots, ports.AgentOrders, ports.Seeds, and who is rung and told, in one.

    Attributes:
        rung: Every ring, in order.
        notes: Every note of progress.
        told: Every call that was journalled: server, door, text, outcome.
        lines: Of agents' journals.
    """

    boots: list[Boot] = field(default_factory=list)
    orders: list[AgentOrder] = field(default_factory=list)
    images: dict[OperationId, bytes] = field(default_factory=dict)
    rung: list[tuple[OperationId, str]] = field(default_factory=list)
    notes: list[tuple[OperationId, str, tuple[int, int]]] = field(default_factory=list)
    told: list[tuple[ServerName, str, str, str]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    # --- ports.Boots
    def open_boot(self, boot: Boot) -> None:
        """Remember it and close older ones of the same server."""
        for number, old in enumerate(self.boots):
            if old.server == boot.server and old.closed_at is None:
                self.boots[number] = replace(old, closed_at=boot.opened_at)
        self.boots.append(boot)

    def change_boot(self, operation: OperationId, **fields: Any) -> None:  # noqa: ANN401 as the port
        """Of the newest boot of this operation."""
        last = max(n for n, boot in enumerate(self.boots) if boot.operation == operation)
        self.boots[last] = replace(self.boots[last], **fields)

    def boot_of_mac(self, mac: str) -> Boot | None:
        """The open one."""
        return next((b for b in self.boots if b.mac == mac and b.closed_at is None), None)

    def boot_of_token(self, token_sha256: str) -> Boot | None:
        """The open one."""
        found = (b for b in self.boots if b.token_sha256 == token_sha256 and b.closed_at is None)
        return next(found, None)

    def hand_out(self, mac: str, token_sha256: str, *, now: WallSeconds) -> bool:
        """Once, inside the window."""
        boot = self.boot_of_mac(mac)
        if boot is None or boot.window_opened_at is None or boot.served_at is not None:
            return False
        self.change_boot(boot.operation, served_at=now, token_sha256=token_sha256)
        return True

    # --- ports.AgentOrders
    def put_order(self, order: AgentOrder) -> AgentOrder:
        """Numbered; the same step gives the stored one."""
        known = self.order(order.operation, order.step)
        if known is not None:
            return known
        made = replace(order, number=len(self.orders) + 1)
        self.orders.append(made)
        return made

    def next_order(self, operation: OperationId, after: int) -> AgentOrder | None:
        """The first unanswered one behind this number."""
        found = (o for o in self.orders if o.operation == operation and o.number > after)
        return next((o for o in found if o.ok is None), None)

    def answer_order(self, order: AgentOrder) -> bool:
        """Once."""
        if self.orders[order.number - 1].ok is not None:
            return False
        self.orders[order.number - 1] = order
        return True

    def order(self, operation: OperationId, step: str) -> AgentOrder | None:
        """With its result."""
        found = (o for o in self.orders if o.operation == operation and o.step == step)
        return next(found, None)

    # --- ports.Seeds
    def put_seed(self, operation: OperationId, image: bytes) -> str:
        """Keep it; no digest is made here."""
        self.images[operation] = image
        return ""

    def seed(self, operation: OperationId) -> bytes | None:
        """None once it was dropped."""
        return self.images.get(operation)

    def drop_seed(self, operation: OperationId) -> None:
        """Forget it."""
        self.images.pop(operation, None)

    # --- who is rung and told
    def ring(self, operation: OperationId, what: str) -> None:
        """Remember the ring."""
        self.rung.append((operation, what))

    def heard(self, operation: OperationId) -> None:
        """Nothing to remember."""

    def note(self, operation: OperationId, text: str, progress_bytes: tuple[int, int]) -> None:
        """Remember the note."""
        self.notes.append((operation, text, progress_bytes))

    def call(self, server: ServerName, door: str, text: str, outcome: str) -> None:
        """Remember the call."""
        self.told.append((server, door, text, outcome))

    def append(self, operation: OperationId, lines: tuple[str, ...]) -> None:
        """Remember the lines, whosever they are."""
        del operation
        self.lines += lines
