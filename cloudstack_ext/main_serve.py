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
from provisioner.errors import RackwrightError
from provisioner.operations.bell import EVERY
from provisioner.operations.lists import check_steps
from provisioner.service import logs
from provisioner.service.server import Listener, serve, stop_on_signals
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
    try:
        failed = _serve(parts, make_outside)
    finally:
        parts.database.close()
    # a library's thread that hangs at a controller must not keep a stopped service alive
    logging.shutdown()
    os._exit(1 if failed else 0)


def _serve(parts: Parts, make_outside: MakeOutside) -> bool:
    """From what is open in the database to the end; whether a part of the service failed."""
    check_steps(parts.records.operations.operations(open_only=True, most=EVERY))
    engine, stopping = Engine(parts, make_outside), asyncio.Event()
    if parts.held:
        log.warning("held, so it only looks: %s", parts.held)
    # before anything moves: an address or a socket that cannot be had is said, and nothing was done
    bound = listeners(parts, engine, stopping)
    try:
        engine.start()
        asyncio.run(_listen(bound, engine, stopping))
    except RackwrightError:
        raise
    except Exception:
        if engine.failure is None:  # its own end it has told
            log.exception("the listeners ended")
        return True
    finally:
        for each in bound:
            each.close()
        engine.stop()
    return engine.failure is not None


async def _listen(bound: list[Listener], engine: Engine, stopping: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    stop_on_signals(stopping)
    engine.when_it_fails(lambda: loop.call_soon_threadsafe(stopping.set))
    await serve(bound, stopping=stopping, started=lambda: tell_ready(os.environ))
