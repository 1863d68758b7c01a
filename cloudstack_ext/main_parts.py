"""Composition of what both loops share: store, bell, verbs' engine, site."""

import asyncio
import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from cloudstack_ext.failure_notes import Explainer
from cloudstack_ext.main_reconcile import explainer_of, reconciler_of
from cloudstack_ext.main_truth import Truths
from cloudstack_ext.reconcile.loop import Reconciler
from provisioner.adapters.clock import SystemClock
from provisioner.adapters.keys.evidence_key import load_evidence_key
from provisioner.adapters.keys.secret_box import load_secret_box
from provisioner.adapters.operation_files import OperationFiles
from provisioner.config import Settings
from provisioner.durable import Durable
from provisioner.evidence.certificate import certificate
from provisioner.evidence.chain import Record, link
from provisioner.operations.bell import Bell
from provisioner.operations.doors import Records, Site
from provisioner.operations.machines import BareMetal
from provisioner.operations.tenant_changes import Changes
from provisioner.operations.tenant_desk import Tenants
from provisioner.ports.keys import Signer
from provisioner.ramdisk.record import read_record
from provisioner.ramdisk.site import site_archive
from provisioner.seed.nocloud import compose_seed
from provisioner.seed.validate import check_seed
from provisioner.seed.volume import make_volume
from provisioner.servers.allocation import InstanceKey, InstanceRequest
from provisioner.servers.model import ServerRecord
from provisioner.servers.turns import Pace
from provisioner.service.metrics import Metrics
from provisioner.store.database import Database
from provisioner.units import MonotonicSeconds, WallSeconds

SITE_ARCHIVE = "site.img"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What is made once and used by more than one listener or loop."""

    settings: Settings
    clock: SystemClock
    database: Database
    records: Records
    bell: Bell
    machines: BareMetal
    tenants: Tenants
    changes: Changes
    truths: Truths
    reconciler: Reconciler
    explainer: Explainer
    site: Site
    files: OperationFiles
    durable: Durable
    metrics: Metrics
    held: str
    public_key: str


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
    _past_stays_past(clock, database, settings)
    held = database.generation.held.reason if database.generation.held else ""
    records = Records(
        servers=database.servers,
        observations=database.observations,
        allocations=database.allocations,
        operations=database.operations,
        effects=database.effects,
        boots=database.boots,
        orders=database.orders,
        seeds=database.seeds,
        evidence=database.evidence,
        catalogue=database.catalogue,
        calls=database.calls,
        turns=database.turns,
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
    kept = OperationFiles(settings.service.state_dir / "operations")
    tenants = Tenants(
        records=records,
        bell=bell,
        clock=clock,
        times=settings.times,
        kept=kept,
        certify=partial(_certify, signer),
        held=held,
    )
    changes = Changes(
        records=records,
        bell=bell,
        clock=clock,
        times=settings.times,
        make_seed=machines.make_seed,
        check_seed=machines.check_seed,
        held=held,
    )
    reconciler = reconciler_of(settings, database, records, machines, clock)
    return Parts(
        settings=settings,
        clock=clock,
        database=database,
        records=records,
        bell=bell,
        machines=machines,
        tenants=tenants,
        changes=changes,
        truths=Truths(
            database=database, clock=clock, settings=settings, listed=reconciler.is_protected
        ),
        reconciler=reconciler,
        explainer=explainer_of(settings, database, clock),
        site=_site(settings),
        files=kept,
        durable=durable,
        metrics=Metrics(),
        held=held,
        public_key=signer.public_pem().decode(),
    )


def _past_stays_past(clock: SystemClock, database: Database, settings: Settings) -> None:
    """With the machine's clock set back since the last run no old reading is a fresh one (8)."""
    latest = database.readings.latest()
    if latest > clock.monotonic():
        clock.go_on_after(MonotonicSeconds(latest + settings.times.reading_too_old_s))


def first_database(settings: Settings) -> None:
    """Make the database of a new installation, and the marker that follows it."""
    parts = compose(settings)
    parts.database.generation.first_marker()
    parts.database.close()


async def _make_seed(request: InstanceRequest, server: ServerRecord, sector_bytes: int) -> bytes:
    macs = [nic.mac for nic in server.tenant_nics()]
    texts = compose_seed(request, macs, salt=secrets.token_hex(8))
    return await asyncio.to_thread(make_volume, texts.files(), sector_bytes=sector_bytes)


def _certify(
    signer: Signer, record: Record, key: InstanceKey, since: WallSeconds
) -> Mapping[str, Any]:
    instance = f"{key.site}/{key.instance}"
    return certificate(record, instance=instance, since=since, signer=signer)


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
        pace=Pace(
            at_most_per_hour=settings.release.at_most_per_hour,
            protected_hold_s=settings.release.protected_hold_s,
        ),
    )
