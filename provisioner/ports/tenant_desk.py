"""What may be asked about an instance beside its verbs, and what is answered."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from provisioner.hardware.inventory import Inventory
from provisioner.ports.machines import Answer
from provisioner.servers.allocation import InstanceKey, InstanceRequest, InstanceView
from provisioner.servers.model import Placement, PowerReading
from provisioner.servers.operation import OperationRecord
from provisioner.units import MonotonicSeconds, OperationId, WallSeconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """An operation, and how far it has come.

    Attributes:
        stage: The step that began last; "" before the first.
        number: Of that step in the operation's list, from 1; 0 before the first.
        host_key: Fingerprint of a rescue system's own key; "" where there is none.
    """

    operation: OperationRecord
    stage: str = ""
    number: int = 0
    host_key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Port:
    """Where an instance's network cards led when they were moved last.

    Attributes:
        placement: UNKNOWN where nobody could look at the switch.
        at: When that was read back.
    """

    placement: Placement
    at: WallSeconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """What is remembered of an instance.

    Attributes:
        operations: Of this instance, newest first; none of anybody else's.
        newest: The first of them with its stage.
        reading: The newest one of its machine; None once it was given back.
        port: Likewise; None also where none was moved for it yet.
    """

    view: InstanceView
    now: MonotonicSeconds
    operations: tuple[OperationRecord, ...] = ()
    newest: Walk | None = None
    reading: PowerReading | None = None
    port: Port | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Console:
    """The end of a console.

    Attributes:
        operation: During which it was heard; None where nothing was kept.
        lines: Printable, oldest first.
    """

    operation: OperationId | None = None
    lines: tuple[str, ...] = field(default=())


class TenantDesk(Protocol):
    """Questions and acts of whoever has an instance; no controller is asked for an answer.

    Raises InputError, ConflictError, OperatorError or TransientError with a brief that a
    tenant may read.
    """

    async def story(self, key: InstanceKey) -> Story:
        """How the instance is, and what was done with it."""
        ...

    async def console(self, key: InstanceKey, most: int) -> Console:
        """The last lines that were kept with its newest operation that has any."""
        ...

    async def inventory(self, key: InstanceKey) -> Inventory:
        """What inspection found in its machine, serials and all: the caller leaves out.

        Raises:
            ConflictError: INSTANCE_ENDED; OperatorError FACTS_DIFFER: it was never inspected.
        """
        ...

    async def certificate(self, key: InstanceKey) -> Mapping[str, Any]:
        """The signed statement of the wipe before this tenancy (evidence/certificate.py)."""
        ...

    async def power_cycle(self, request: InstanceRequest, *, until: MonotonicSeconds) -> Walk:
        """Restart what runs, or attach to a restart that goes on.

        Raises:
            ConflictError: INSTANCE_BUSY: something else goes on. STATE_CONFLICT: it is off.
        """
        ...

    async def cordon(self, key: InstanceKey, who: str, reason: str | None) -> Answer:
        """Keep its machine back after this instance; None ends that.

        Raises:
            ConflictError: STATE_CONFLICT: an operator keeps it back, and alone ends that.
        """
        ...
