"""Network boots, orders to their agents, and the seed."""

from typing import Any, Protocol

from provisioner.servers.operation import AgentOrder, Boot
from provisioner.units import OperationId, WallSeconds


class Boots(Protocol):
    """Network boots, their one-time tokens and the orders of their agents."""

    def open_boot(self, boot: Boot) -> None:
        """Remember a boot; an older one of the same server is closed."""
        ...

    def change_boot(self, operation: OperationId, **fields: Any) -> None:  # noqa: ANN401 fields of Boot
        """Set named fields of the newest boot of this operation."""
        ...

    def boot_of_mac(self, mac: str) -> Boot | None:
        """The open boot of this MAC, while its operation is open."""
        ...

    def boot_of_token(self, token_sha256: str) -> Boot | None:
        """The open boot of this token, while its operation is open."""
        ...

    def hand_out(self, mac: str, token_sha256: str, *, now: WallSeconds) -> bool:
        """Take the one script of this boot, atomically; False: no window, or already taken.

        The token is made when the script is: a boot that was opened with token_sha256 "" gets
        this one. One that was opened with a token accepts only that.
        """
        ...


class AgentOrders(Protocol):
    """Orders and their results."""

    def put_order(self, order: AgentOrder) -> AgentOrder:
        """Remember it, numbered; the same (operation, step) again gives the stored one."""
        ...

    def next_order(self, operation: OperationId, after: int) -> AgentOrder | None:
        """The first unanswered order behind this number."""
        ...

    def answer_order(self, order: AgentOrder) -> bool:
        """Store ok, result and error of this number, once; False when it was answered already."""
        ...

    def order(self, operation: OperationId, step: str) -> AgentOrder | None:
        """With its result, if there is one."""
        ...


class Seeds(Protocol):
    """A tenant's seed, encrypted until it is handed out, then gone."""

    def put_seed(self, operation: OperationId, image: bytes) -> str:
        """Encrypt and keep; answers its SHA-256. Its operation may be opened after it.

        It is deleted with the end of its operation, or at the next start where it has none.
        """
        ...

    def seed(self, operation: OperationId) -> bytes | None:
        """Decrypted; None once it was acknowledged."""
        ...

    def drop_seed(self, operation: OperationId) -> None:
        """Delete it; safe to repeat."""
        ...
