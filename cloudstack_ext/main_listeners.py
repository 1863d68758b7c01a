"""Composition of the listeners, which share nothing, and of the operators' desk."""

import asyncio
import logging
import ssl
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from cloudstack_ext import contract, verbs
from cloudstack_ext.main_engine import Engine
from cloudstack_ext.main_parts import SITE_ARCHIVE, Parts
from cloudstack_ext.registration.actions import ActionName
from provisioner.adapters.keys.private_file import read_private
from provisioner.adapters.operation_files import OperationFiles
from provisioner.adapters.ssh import open_shell
from provisioner.boot import ipxe
from provisioner.config import PortAdapter
from provisioner.errors import ErrorCode, OperatorError, RackwrightError
from provisioner.operations import desk_records, desk_servers
from provisioner.operations.alarms import AlarmBell
from provisioner.operations.desk_differences import Compared
from provisioner.operations.desk_hosts import HostBook
from provisioner.operations.desk_registered import Register
from provisioner.operations.desk_registration_lease import Leases
from provisioner.operations.desk_site_keys import KeyBox
from provisioner.operations.doors import Site
from provisioner.operations.host_gather import SshGather
from provisioner.operations.lists import follow
from provisioner.operations.rehearsal import Rehearsal
from provisioner.operations.whole_desk import Desk
from provisioner.ramdisk.record import INITRD_FILE, KERNEL_FILE
from provisioner.secret import Secret
from provisioner.servers.operation import Boot
from provisioner.service import operators
from provisioner.service.agent_api import AgentApi
from provisioner.service.boot_script import BootScripts
from provisioner.service.by_certificate import mutual_tls, on_tcp_by_certificate
from provisioner.service.callers import Caller, CallerByCertificate, CallerByUid
from provisioner.service.extension import Extension
from provisioner.service.identity import ByPeer, ByToken
from provisioner.service.server import (
    Listener,
    on_tcp,
    on_unix,
    server_tls,
)
from provisioner.units import OperationId, Seconds, SiteName

log = logging.getLogger(__name__)

AGENT_LOG = "agent.log"
BOOT_FILE = "boot.ipxe"


def listeners(parts: Parts, engine: Engine, stopping: asyncio.Event) -> list[Listener]:
    """All of them or none, with open sockets; they answer once they are served.

    Raises:
        RackwrightError: One cannot be made; those before it are closed.
    """
    made: list[Listener] = []
    try:
        made.extend(_each(parts, engine, stopping))
    except BaseException:
        for listener in made:
            listener.close()
        raise
    return made


def _each(parts: Parts, engine: Engine, stopping: asyncio.Event) -> Iterator[Listener]:
    bell = AlarmBell(bell=parts.bell, records=parts.records, follow=follow, clock=parts.clock)
    yield from _for_cloudstack(parts, stopping)
    yield from _for_operators(parts, engine, stopping)
    yield _for_agents(parts, bell, stopping)
    yield _for_firmware(parts, bell)


def _for_cloudstack(parts: Parts, stopping: asyncio.Event) -> Iterator[Listener]:
    settings, files = parts.settings.extension, parts.settings.files()
    by_uid = Extension(
        answer=partial(_answer, parts),
        refuse=_refused,
        caller_of=CallerByUid(settings.site_of_uid()),
        names=frozenset({*contract.Verb, contract.STATUSES, *ActionName}),
        clock=parts.clock,
        metrics=parts.metrics,
        stopping=stopping,
    )
    yield on_unix("extension", by_uid.app(), settings.socket)
    if settings.https is not None:
        by_certificate = CallerByCertificate(
            read_entries=partial(_text_of, files.entries),
            sites=frozenset(SiteName(site.name) for site in settings.sites),
            clock=parts.clock,
        )
        app = replace(by_uid, caller_of=by_certificate).app()
        address, port = settings.https.address, settings.https.port
        yield on_tcp_by_certificate("extension", app, address, port, _mutual_tls(parts))


def _for_operators(parts: Parts, engine: Engine, stopping: asyncio.Event) -> Iterator[Listener]:
    settings, https = parts.settings.operators, parts.settings.operators.https
    table = operators.operator_table(
        _desk(parts, engine), clock=parts.clock, metrics=parts.metrics, stopping=stopping.is_set
    )
    by_peer = operators.operator_app(table, ByPeer({each.uid: each for each in settings.uids}))
    yield on_unix("operators", by_peer, settings.socket)
    if https is not None:
        by_token = ByToken(parts.settings.files().tokens.read_text)
        app = operators.operator_app(table, by_token)
        yield on_tcp("operators", app, https.address, https.port, _tls(parts))


def _for_agents(parts: Parts, bell: AlarmBell, stopping: asyncio.Event) -> Listener:
    agents = AgentApi(
        boots=parts.records.boots,
        orders=parts.records.orders,
        seeds=parts.records.seeds,
        operations=parts.records.operations,
        bell=bell,
        journal=AgentLog(parts.files),
        clock=parts.clock,
        stopping=stopping,
        held=parts.held,
    )
    rack = parts.settings.provisioning
    return on_tcp("agents", agents.app(), rack.address, rack.https_port, _tls(parts))


def _for_firmware(parts: Parts, bell: AlarmBell) -> Listener:
    rack = parts.settings.provisioning
    scripts = BootScripts(
        boots=parts.records.boots,
        bell=bell,
        calls=parts.records.calls,
        script=partial(_script, parts),
        shut=ipxe.shut(),
        url=rack.http_url(),
        clock=parts.clock,
        held=parts.held,
    )
    return on_tcp("boot", scripts.app(), rack.address, rack.http_port, None)


def _tls(parts: Parts) -> ssl.SSLContext:
    files = parts.settings.files()
    read_private(files.server_key)  # refused where others may read it
    return server_tls(files.server_certificate, files.server_key)


def _text_of(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError as error:
        raise OperatorError(ErrorCode.FILE_UNREADABLE, f"{path}: {error.strerror}") from error


def _mutual_tls(parts: Parts) -> ssl.SSLContext:
    files = parts.settings.files()
    for path in (files.extension_certificate, files.entries):
        if not path.exists():
            text = f"{path} is not there: the first `rackwright init entry` makes it"
            raise OperatorError(ErrorCode.FILE_UNREADABLE, text)
        read_private(path)  # refused where others may read it
    return mutual_tls(files.extension_certificate, files.ca_certificate)


async def _answer(
    parts: Parts, verb: str, payload: bytes, wait: str, caller: Caller
) -> tuple[str, int]:
    reply = await verbs.answer(
        verb,
        payload,
        wait,
        site=caller.site,
        machines=parts.machines,
        clock=parts.clock,
        note=partial(_note, parts, caller.by),
        create_within=Seconds(parts.settings.times.create_answer_within_s),
        cloud=parts.truths,
        desk=parts.tenants,
        changes=parts.changes,
    )
    return reply.line, reply.exit


async def _note(
    parts: Parts, by: str, request: contract.Request | contract.ActionRequest, outcome: str
) -> None:
    """Once and without patience: an answer does not wait for its line in the audit."""
    asked = request.instance
    who, act = f"{asked.who}, {by}", request.act
    try:
        await asyncio.to_thread(parts.database.audit.audit, who, act, asked.key.instance, outcome)
    except RackwrightError as error:
        log.warning("%s of %s stands not in the audit: %s", act, who, error)


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
    sites = frozenset(SiteName(site.name) for site in parts.settings.extension.sites)
    rehearsal = Rehearsal(records=records, clock=parts.clock, site=parts.site)
    return Desk(
        servers=desk_servers.Servers(
            records=records,
            audit=audit,
            clock=parts.clock,
            rehearse=rehearsal,
            ramdisk=parts.site.ramdisk,
            pace=parts.site.pace,
            held=parts.held,
            by_hand=parts.settings.ports.adapter is PortAdapter.MANUAL,
            sites=sites,
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
        catalogue=desk_records.Shelf(records=records, audit=audit, held=parts.held),
        records=desk_records.Written(
            records=records,
            journal=parts.database.calls,
            audit=audit,
            held=parts.held,
            public_key=parts.public_key,
            missing=partial(_missing, parts.site),
            left_alone=engine.left_alone,
        ),
        registered=Register(
            rows=parts.database.registered,
            audit=audit,
            clock=parts.clock,
            sites=sites,
            held=parts.held,
        ),
        leases=Leases(
            leases=parts.database.registration_leases,
            now=parts.clock.wall,
            sites=sites,
            held=parts.held,
        ),
        site_keys=KeyBox(parts.database.site_keys, audit, sites, parts.held),
        hosts=HostBook(
            records=parts.database.hosts,
            gather=SshGather(open_shell),
            audit=audit,
            clock=parts.clock,
            sites=sites,
            held=parts.held,
        ),
        differences=Compared(
            of=parts.reconciler,
            records=records,
            audit=audit,
            clock=parts.clock,
            rehearse=rehearsal,
            held=parts.held,
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
