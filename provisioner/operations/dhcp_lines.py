"""What the DHCP server said about a boot, kept beside its operation."""

import asyncio
import logging

from provisioner.operations.boot_steps import NETWORK_FIRST
from provisioner.operations.doors import Doors
from provisioner.servers.operation import OperationRecord
from provisioner.store.waiting import stored

log = logging.getLogger(__name__)

DHCP = "dhcp.log"


async def keep_dhcp(doors: Doors, record: OperationRecord) -> None:
    """The lines about this server's MAC since its boot was prepared; none where it never was.

    Lines that cannot be had, or kept, keep no operation from its end.
    """
    effects = await stored(doors.records.effects.effects, record.id)
    began = next((each.begun for each in effects if each.step == NETWORK_FIRST.name), None)
    if began is None:
        return
    server = await stored(doors.records.servers.server, record.server)
    try:
        lines = await doors.offers.lines(server.provisioning_nic().mac, began)
        text = "".join(f"{line}\n" for line in lines)
        await asyncio.to_thread(doors.consoles.kept.append, record.id, DHCP, text.encode())
    except OSError as error:
        log.warning("DHCP lines of %s: %s", record.server, error)
