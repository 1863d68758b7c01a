"""How far an operation has come, for whoever has the instance."""

from provisioner.operations.doors import Records
from provisioner.operations.rescue import RESCUE_ORDER
from provisioner.ports.tenant_desk import Walk
from provisioner.servers.operation import OperationRecord
from provisioner.store.waiting import stored


async def walk_of(records: Records, operation: OperationRecord) -> Walk:
    """Its newest stage; of a rescue by which key its host is known."""
    begun = await stored(records.effects.effects, operation.id)
    if not begun:
        return Walk(operation=operation)
    stage = begun[-1].step
    found = {each.step: each.result for each in begun}
    return Walk(
        operation=operation,
        stage=stage,
        number=operation.steps.index(stage) + 1,
        host_key=str(found.get(RESCUE_ORDER.name, {}).get("host_key", "")),
    )
