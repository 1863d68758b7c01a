"""`rackwright serve`: settings to parts, engine and listeners.

Two event loops: operations, power loop and housekeeping share the engine's, so that one
lock a controller is enough; listeners have their own, so that a slow caller holds up nobody.
"""

import asyncio
import logging
import os
import sys

from cloudstack_ext.main_engine import Engine
from cloudstack_ext.main_files import write_boot_files
from cloudstack_ext.main_listeners import listeners
from cloudstack_ext.main_outside import MakeOutside, outside_of
from cloudstack_ext.main_parts import Parts, compose
from provisioner.config import Settings
from provisioner.operations.bell import EVERY
from provisioner.operations.lists import check_steps
from provisioner.service import logs
from provisioner.service.server import (
    serve,
    stop_on_signals,
)
from provisioner.service.systemd import tell_ready

log = logging.getLogger(__name__)


def run(settings: Settings, make_outside: MakeOutside = outside_of) -> None:
    """Serve until SIGTERM or SIGINT; the process ends here, with 1 where its engine failed.

    Args:
        settings: As configured.
        make_outside: Called once, in the loop of operations.

    Raises:
        RackwrightError: It cannot start; nothing was changed.
    """
    sites = [each.name for each in settings.extension.sites]
    logs.configure(
        sys.stderr, settings.service.log_level, site=sites[0] if len(sites) == 1 else None
    )
    write_boot_files(settings)
    parts = compose(settings)
    check_steps(parts.records.operations.operations(open_only=True, most=EVERY))
    engine = Engine(parts, make_outside)
    if parts.held:
        log.warning("held, so it only looks: %s", parts.held)
    engine.start()
    asyncio.run(_listen(parts, engine))
    engine.stop()
    parts.database.close()
    # a library's thread that hangs at a controller must not keep a stopped service alive
    logging.shutdown()
    os._exit(0 if engine.failure is None else 1)


async def _listen(parts: Parts, engine: Engine) -> None:
    stopping, loop = asyncio.Event(), asyncio.get_running_loop()
    stop_on_signals(stopping)
    engine.when_it_fails(lambda: loop.call_soon_threadsafe(stopping.set))
    await serve(
        listeners(parts, engine, stopping),
        stopping=stopping,
        started=lambda: tell_ready(os.environ),
    )
