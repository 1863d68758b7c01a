"""The bell as the provisioning network rings it: an alarm stops the operation at once."""

import contextlib
from dataclasses import dataclass

from provisioner.errors import ConflictError, ErrorCode
from provisioner.operations.bell import Bell
from provisioner.operations.doors import Records
from provisioner.operations.runner import Follow
from provisioner.ports.clock import Clock
from provisioner.servers.operation import Outcome
from provisioner.servers.states import Ending
from provisioner.units import OperationId

ALARM = "alarm:"


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmBell:
    """Rings on; and ends an operation whose token somebody asked for a second time."""

    bell: Bell
    records: Records
    follow: Follow
    clock: Clock

    def ring(self, operation: OperationId, what: str) -> None:
        """Record an arrival; from any thread."""
        if not what.startswith(ALARM):
            self.bell.ring(operation, what)
            return
        record = self.records.operations.operation(operation)
        outcome = Outcome(
            ending=Ending.MACHINE,
            code=ErrorCode.BOOT_TOKEN_TAKEN,
            brief="the boot's token was asked for twice: somebody else is on the "
            "provisioning network, or the server started twice",
        )
        with contextlib.suppress(ConflictError):  # it has ended in this moment
            self.records.operations.close(
                operation, outcome, self.follow(record, outcome), now=self.clock.wall()
            )
        self.bell.closed(operation)

    def heard(self, operation: OperationId) -> None:
        """The agent of this operation is alive."""
        self.bell.heard(operation)
