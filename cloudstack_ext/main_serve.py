"""Composition of the service: settings to adapters to operations to listeners.

Two event loops: operations, power loop and housekeeping share the engine's, so that one
lock a controller is enough; listeners have their own, so that a slow caller holds up nobody.
"""

import asyncio
import hashlib
import logging
import os
import secrets
import sys
import threading
from dataclasses import dataclass
from functools import partial

from cloudstack_ext import contract, verbs
from cloudstack_ext.main_files import write_boot_files
from cloudstack_ext.main_outside import MakeOutside, outside_of
from provisioner.adapters.clock import SystemClock
from provisioner.adapters.keys.evidence_key import load_evidence_key
from provisioner.adapters.keys.secret_box import load_secret_box
from provisioner.adapters.operation_files import OperationFiles
from provisioner.boot import ipxe
from provisioner.config import Settings
from provisioner.durable import Durable
from provisioner.errors import RackwrightError
from provisioner.evidence.chain import link
from provisioner.operations import desk_records, desk_servers
from provisioner.operations.alarms import AlarmBell
from provisioner.operations.bell import EVERY, Bell
from provisioner.operations.consoles import Consoles
from provisioner.operations.conversation import Conversations
from provisioner.operations.desk import Desk
from provisioner.operations.doors import Doors, Records, Site
from provisioner.operations.housekeeping import Housekeeping, close_lost
from provisioner.operations.lists import STEPS, check_steps, follow
from provisioner.operations.machines import BareMetal, new_operation
from provisioner.operations.power_loop import PowerLoop
from provisioner.operations.quarantine import QUARANTINE
from provisioner.operations.rehearsal import Rehearsal
from provisioner.operations.runner import Runner
from provisioner.ramdisk.record import INITRD_FILE, KERNEL_FILE, read_record
from provisioner.ramdisk.site import site_archive
from provisioner.secret import Secret
from provisioner.seed.nocloud import compose_seed
from provisioner.seed.validate import check_seed
from provisioner.seed.volume import make_volume
from provisioner.servers.allocation import InstanceRequest
from provisioner.servers.model import ServerRecord
from provisioner.servers.operation import Boot
from provisioner.service import logs, operators
from provisioner.service.agent_api import AgentApi
from provisioner.service.boot_script import BootScripts
from provisioner.service.extension import Extension
from provisioner.service.identity import ByPeer, ByToken
from provisioner.service.metrics import Metrics
from provisioner.service.server import (
    Listener,
    on_tcp,
    on_unix,
    serve,
    server_tls,
    stop_on_signals,
)
from provisioner.store.database import Database
from provisioner.store.waiting import stored
from provisioner.units import OperationId, Seconds, ServerName, SiteName

log = logging.getLogger(__name__)

SITE_ARCHIVE = "site.img"
AGENT_LOG = "agent.log"
BOOT_FILE = "boot.ipxe"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What is made once and used by more than one listener or loop."""

    settings: Settings
    clock: SystemClock
    database: Database
    records: Records
    bell: Bell
    machines: BareMetal
    site: Site
    files: OperationFiles
    durable: Durable
    metrics: Metrics
    held: str
    public_key: str


def run(settings: Settings, make_outside: MakeOutside = outside_of) -> None:
    """Serve until SIGTERM or SIGINT; the process ends here.

    Args:
        settings: As configured.
        make_outside: Called once, in the loop of operations.

    Raises:
        RackwrightError: It cannot start; nothing was changed.
    """
    logs.configure(sys.stderr, settings.service.log_level)
    write_boot_files(settings)
    parts = compose(settings)
    check_steps(parts.records.operations.operations(open_only=True, most=EVERY))
    engine = Engine(parts, make_outside)
    if not parts.held:
        engine.start()
    else:
        log.warning("held: %s", parts.held)
    asyncio.run(_listen(parts, engine))
    engine.stop()
    parts.database.close()
    # a library's thread that hangs at a controller must not keep a stopped service alive
    logging.shutdown()
    os._exit(0)


def compose(settings: Settings) -> Parts:
    """Everything that needs no event loop."""
    clock, files = SystemClock(), settings.files()
    signer = load_evidence_key(files.evidence_key)
    durable = Durable(f"sqlite:///{files.database}", site="rackwright")
    database = Database(
        files.database,
        marker=files.marker,
        cipher=load_secret_box(files.secrets_key),
        seal=partial(link, signer=signer),
        clock=clock,
        hand_over=durable.enqueue,
    )
    held = database.generation.held.reason if database.generation.held else ""
    records = Records(
        servers=database.servers,
        readings=database.readings,
        allocations=database.allocations,
        operations=database.operations,
        effects=database.effects,
        boots=database.boots,
        orders=database.orders,
        seeds=database.seeds,
        evidence=database.evidence,
        catalogue=database.catalogue,
        calls=database.calls,
    )
    bell = Bell(effects=records.effects, operations=records.operations, clock=clock)
    machines = BareMetal(
        records=records,
        bell=bell,
        clock=clock,
        times=settings.times,
        make_seed=_make_seed,
        check_seed=lambda request: check_seed(request, ports=len(request.networks)),
        held=held,
    )
    return Parts(
        settings=settings,
        clock=clock,
        database=database,
        records=records,
        bell=bell,
        machines=machines,
        site=_site(settings),
        files=OperationFiles(settings.service.state_dir / "operations"),
        durable=durable,
        metrics=Metrics(),
        held=held,
        public_key=signer.public_pem().decode(),
    )


def first_database(settings: Settings) -> None:
    """Make the database of a new installation, and the marker that follows it."""
    parts = compose(settings)
    parts.database.generation.first_marker()
    parts.database.close()


async def _make_seed(request: InstanceRequest, server: ServerRecord, sector_bytes: int) -> bytes:
    macs = [nic.mac for nic in server.tenant_nics()]
    texts = compose_seed(request, macs, salt=secrets.token_hex(8))
    return await asyncio.to_thread(make_volume, texts.files(), sector_bytes=sector_bytes)


def _site(settings: Settings) -> Site:
    """With the small second initrd, written anew at each start: it carries the site's CA."""
    rack = settings.provisioning
    agent_url = rack.https_url()
    folder = rack.blobs_dir / "ramdisk"
    archive = site_archive(settings.files().ca_certificate.read_bytes(), agent_url)
    folder.mkdir(parents=True, exist_ok=True)
    new = folder / f".{SITE_ARCHIVE}"
    new.write_bytes(archive)
    new.replace(folder / SITE_ARCHIVE)
    sites = settings.extension.sites
    return Site(
        name=sites[0].name if sites else "rackwright",
        blobs_url=rack.blobs_url,
        agent_url=agent_url,
        ramdisk=partial(read_record, folder),
        site_initrd_sha256=hashlib.sha256(archive).hexdigest(),
        times=settings.times,
    )


class Engine:
    """The loop of operations, in a thread of its own."""

    def __init__(self, parts: Parts, make_outside: MakeOutside) -> None:
        self._parts, self._make_outside = parts, make_outside
        self._ready = threading.Event()
        self._failure: BaseException | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)
        self.conversations: Conversations | None = None

    def start(self) -> None:
        """Return when what was in flight goes on and what was lost is closed.

        Raises:
            RackwrightError: It cannot start.
        """
        self._thread.start()
        self._ready.wait()
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """Let go of everything; what is open goes on at the next start."""
        if self._loop is not None and self._stopping is not None:
            self._loop.call_soon_threadsafe(self._stopping.set)
            self._thread.join(timeout=10.0)

    def left_alone(self) -> tuple[ServerName, ...]:
        """Servers whose controller nobody asks for a while."""
        if self.conversations is None:
            return ()
        addresses = self.conversations.left_alone()
        return tuple(
            each.name
            for each in self._parts.records.servers.servers()
            if f"{each.controller.host}:{each.controller.port}" in addresses
        )

    def _run(self) -> None:
        try:
            asyncio.run(self._live())
        except BaseException as error:
            self._failure = error
            log.exception("the engine ended")
        finally:
            self._ready.set()

    async def _live(self) -> None:
        parts = self._parts
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        doors = self._doors()
        self.conversations = doors.conversations
        runner = Runner(
            doors=doors,
            steps=STEPS,
            follow=follow,
            started=parts.clock.wall(),
            watch=parts.metrics,
        )
        # in this loop: steps, power loop and consoles share it
        await parts.durable.launch(steps_of=runner.steps_of, run_step=runner.run)
        # in a thread: the engine refuses to be asked from a running loop
        closed = await asyncio.to_thread(
            close_lost, parts.records, parts.durable.lost, follow, parts.clock
        )
        if closed:
            log.warning("%d operations were lost and are closed", closed)
        self._ready.set()
        loops = (
            parts.bell.run(),
            self._power_loop(doors).run(),
            Housekeeping(records=parts.records, machines=parts.machines, clock=parts.clock).run(),
        )
        running = [asyncio.ensure_future(each) for each in loops]
        await self._stopping.wait()
        for each in running:
            each.cancel()
        await asyncio.to_thread(parts.durable.stop)

    def _doors(self) -> Doors:
        parts = self._parts
        outside = self._make_outside(parts.settings)
        return Doors(
            records=parts.records,
            conversations=Conversations(outside.controllers, parts.clock, parts.database.calls),
            ports=outside.ports,
            offers=outside.offers,
            clock=parts.clock,
            bell=parts.bell,
            consoles=Consoles(kept=parts.files),
            site=parts.site,
        )

    def _power_loop(self, doors: Doors) -> PowerLoop:
        times, records, clock = self._parts.settings.times, self._parts.records, self._parts.clock

        async def quarantine(server: ServerRecord) -> None:
            log.warning("dirty, without an owner, and on", extra={"server": server.name})
            new = new_operation(QUARANTINE, "power loop")
            await stored(partial(records.operations.open, server.name, new, now=clock.wall()))

        return PowerLoop(
            servers=records.servers,
            operations=records.operations,
            conversations=doors.conversations,
            clock=clock,
            every=Seconds(times.power_read_s),
            every_moving=Seconds(times.power_read_moving_s),
            on_stray=quarantine,
        )


async def _listen(parts: Parts, engine: Engine) -> None:
    stopping = asyncio.Event()
    stop_on_signals(stopping)
    await serve(_listeners(parts, engine, stopping), stopping=stopping)


def _listeners(parts: Parts, engine: Engine, stopping: asyncio.Event) -> list[Listener]:
    settings, files = parts.settings, parts.settings.files()
    metrics = parts.metrics
    rack = settings.provisioning
    bell = AlarmBell(bell=parts.bell, records=parts.records, follow=follow, clock=parts.clock)
    table = operators.operator_table(
        _desk(parts, engine), clock=parts.clock, metrics=metrics, stopping=stopping.is_set
    )
    agents = AgentApi(
        boots=parts.records.boots,
        orders=parts.records.orders,
        seeds=parts.records.seeds,
        operations=parts.records.operations,
        bell=bell,
        journal=AgentLog(parts.files),
        clock=parts.clock,
        stopping=stopping,
    )
    scripts = BootScripts(
        boots=parts.records.boots,
        bell=bell,
        calls=parts.records.calls,
        script=partial(_script, parts),
        shut=ipxe.shut(),
        url=rack.http_url(),
        clock=parts.clock,
    )
    extension = Extension(
        answer=partial(_answer, parts),
        refuse=_refused,
        site_of_uid=settings.extension.site_of_uid(),
        clock=parts.clock,
        metrics=metrics,
        stopping=stopping,
    )
    uids = {each.uid: each for each in settings.operators.uids}
    tls = server_tls(files.server_certificate, files.server_key)
    listeners = [
        on_unix("extension", extension.app(), settings.extension.socket),
        on_unix(
            "operators", operators.operator_app(table, ByPeer(uids)), settings.operators.socket
        ),
        on_tcp("agents", agents.app(), rack.address, rack.https_port, tls),
        on_tcp("boot", scripts.app(), rack.address, rack.http_port, None),
    ]
    https = settings.operators.https
    if https is not None:
        by_token = operators.operator_app(table, ByToken(files.tokens.read_text))
        listeners.append(on_tcp("operators", by_token, https.address, https.port, tls))
    return listeners


async def _answer(
    parts: Parts, verb: str, payload: bytes, wait: str, site: SiteName
) -> tuple[str, int]:
    reply = await verbs.answer(
        verb,
        payload,
        wait,
        site=site,
        machines=parts.machines,
        clock=parts.clock,
        create_within=Seconds(parts.settings.times.create_answer_within_s),
    )
    return reply.line, reply.exit


def _refused(error: RackwrightError) -> tuple[str, int]:
    reply = contract.failed(error)
    return reply.line, reply.exit


def _script(parts: Parts, boot: Boot, token: Secret) -> str:
    """The boot's script; kept beside the operation without its token."""
    server = parts.records.servers.server(boot.server)
    blobs = f"{parts.site.blobs_url}/ramdisk"
    # its own arguments first: of equal words the last one counts
    words = (
        f"{server.kernel_arguments} console={server.console} quiet "
        f"rackwright.url={parts.site.agent_url} rackwright.mac={boot.mac} "
        f"rackwright.now={int(parts.clock.wall())}"
    )
    load = partial(
        ipxe.Loaded,
        kernel=f"{blobs}/{KERNEL_FILE}",
        ramdisk=f"{blobs}/{INITRD_FILE}",
        site=f"{blobs}/{SITE_ARCHIVE}",
    )
    shown = ipxe.load(load(arguments=words))
    parts.files.append(boot.operation, BOOT_FILE, shown.encode())
    return ipxe.load(load(arguments=f"{words} rackwright.token={token.reveal()}"))


def _desk(parts: Parts, engine: Engine) -> Desk:
    records, audit = parts.records, parts.database.audit
    rehearsal = Rehearsal(records=records, clock=parts.clock, site=parts.site)
    return Desk(
        servers=desk_servers.Servers(
            records=records, audit=audit, clock=parts.clock, rehearse=rehearsal, held=parts.held
        ),
        operations=desk_records.Operations(
            records=records,
            audit=audit,
            clock=parts.clock,
            bell=parts.bell,
            kept=parts.files,
            rehearse=rehearsal,
            held=parts.held,
        ),
        catalogue=desk_records.Shelf(records=records, audit=audit),
        records=desk_records.Written(
            records=records,
            journal=parts.database.calls,
            held=parts.held,
            public_key=parts.public_key,
            missing=partial(_missing, parts.site),
            left_alone=engine.left_alone,
        ),
    )


def _missing(site: Site) -> tuple[str, ...]:
    try:
        site.ramdisk()
    except RackwrightError as error:
        return (error.brief,)
    return ()


@dataclass(frozen=True, slots=True)
class AgentLog:
    """What agents tell, kept beside their operations."""

    files: OperationFiles

    def append(self, operation: OperationId, lines: tuple[str, ...]) -> None:
        """Printable lines."""
        text = "".join(f"{line}\n" for line in lines)
        self.files.append(operation, AGENT_LOG, text.encode())
