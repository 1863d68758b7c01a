"""The signed chain."""

from collections.abc import Mapping
from typing import Any, Protocol

from provisioner.units import OperationId, ServerName


class EvidenceLog(Protocol):
    """The signed chain."""

    def append_and_clean(self, operation: OperationId, document: Mapping[str, Any]) -> str:
        """Sign, chain and store; clear `dirty` in the same transaction; answers the record's id."""
        ...

    def records(self) -> tuple[Mapping[str, Any], ...]:
        """All, oldest first, as `rackwright evidence` prints them."""
        ...

    def newest_of(self, server: ServerName) -> Mapping[str, Any] | None:
        """The last record of this server; None where it has none."""
        ...
