"""What an operation of an instance leaves at its allocation, by how it ended. Pure."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from provisioner.errors import ConflictError, ErrorCode
from provisioner.servers.allocation import Allocation, Phase
from provisioner.servers.model import Power
from provisioner.servers.operation import NewOperation, OperationRecord
from provisioner.servers.states import CHANGES, Ending, Intent

WHOLE = MappingProxyType({"needs_reinstall": False, "needs_reseed": False, "off_first": False})
"""Its own system was written, and runs or will."""

PRESUMES = "port-to-tenant"
"""A list that begins with this step."""
_DONE: Mapping[Intent, Mapping[str, Any]] = MappingProxyType(
    {
        Intent.DEPLOY: {**WHOLE, "phase": Phase.ACTIVE, "ever_powered": True},
        Intent.REINSTALL: WHOLE,
        Intent.RESEED: {"needs_reseed": False, "off_first": False},
        # what begins with it has confirmed off, or was asked for where none was needed
        Intent.POWER: {"off_first": False},
    }
)


def left_by(record: OperationRecord, ending: Ending) -> dict[str, Any]:
    """Fields of the allocation, set in the transaction that ends the operation."""
    if ending is Ending.DONE:
        left = dict(_DONE.get(record.kind, {}))
        if record.kind is Intent.REINSTALL and "image" in record.parameters:
            left["image"] = record.parameters["image"]
        return left
    # what follows switches it off: nobody wants it on before he asks again
    is_over = record.kind in CHANGES and ending is not Ending.INPUT
    return {"wanted": Power.OFF} if is_over else {}


def refuse_presuming(new: NewOperation, allocation: Allocation | None) -> None:
    """A command that leads a port to the tenant first presumes that its own system runs there.

    Asked in the transaction that opens it: whoever chose its list may have seen an older moment.

    Raises:
        ConflictError: INSTANCE_BUSY.
    """
    off_first = allocation is not None and allocation.off_first
    if new.kind is Intent.POWER and new.steps[0] == PRESUMES and off_first:
        text = "what runs on its machine has changed in this moment: ask again"
        raise ConflictError(ErrorCode.INSTANCE_BUSY, text)


def is_asked_again(running: OperationRecord, new: NewOperation, parameters: Any) -> bool:  # noqa: ANN401 JSON
    """Who asks twice gets it once.

    Args:
        running: Open on the server.
        new: What is asked for now.
        parameters: Those of `new`, as a record would have them. A power command is the same into
            the same networks; a seed is made anew each time it is asked for, so of all else the
            image counts alone.
    """
    if running.kind is not new.kind or running.steps_name != new.steps_name:
        return False
    if new.kind is Intent.POWER:
        return bool(running.parameters == parameters)
    same_image = running.parameters.get("image") == parameters.get("image")
    return new.kind in CHANGES and same_image
