"""What operators ask of GPU hosts: enrol one, look at it anew, look up what is known."""

import asyncio
import base64
import binascii
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from provisioner.errors import ErrorCode, InputError, OperatorError
from provisioner.hardware.unknown import known
from provisioner.hosts.bundle import read_bundle
from provisioner.hosts.facts import HostFacts, Way
from provisioner.hosts.model import HostRecord, HostWanted
from provisioner.hosts.reading import read_facts
from provisioner.operations.desk import Operator
from provisioner.operations.desk_records import refuse_held
from provisioner.ports.clock import Clock
from provisioner.ports.hosts import Gather, Hosts
from provisioner.ports.journal import Audit
from provisioner.servers.identity import same_uuid
from provisioner.store.waiting import stored
from provisioner.units import HostName, SiteName


class HostDesk(Protocol):
    """GPU hosts and what is asked of them."""

    async def hosts(self) -> tuple[HostRecord, ...]:
        """All, by name."""
        ...

    async def host(self, name: HostName) -> HostRecord:
        """Raises InputError HOST_UNKNOWN."""
        ...

    async def add(self, wanted: HostWanted, by: Operator, *, dry_run: bool) -> HostRecord:
        """Look at it and remember it; with `dry_run` it is looked at all the same.

        Raises:
            InputError: BUNDLE_INVALID; SITE_UNKNOWN; USAGE: its host key was not named.
            ConflictError: HOST_EXISTS.
            OperatorError: SSH_HOST_KEY, SSH_KEY, SSH_SUDO, SSH_FAILED.
            TransientError: SSH_UNREACHABLE.
        """
        ...

    async def inspect(
        self, name: HostName, bundle: str, by: Operator, *, dry_run: bool
    ) -> HostRecord:
        """Look at it anew: over SSH, or in a bundle (base64) that somebody brought.

        Raises:
            OperatorError: OTHER_MACHINE: these are another machine's texts; and as `add`.
        """
        ...

    async def bundle(self, name: HostName) -> bytes:
        """The texts of the newest facts."""
        ...


@dataclass(slots=True)
class HostBook:
    """Implements the desk's part for GPU hosts.

    Attributes:
        records: As remembered.
        gather: Over SSH.
        held: Why nothing may change now (invariant 16), "" otherwise.
    """

    records: Hosts
    gather: Gather
    audit: Audit
    clock: Clock
    sites: frozenset[SiteName] = frozenset()
    held: str = ""

    async def hosts(self) -> tuple[HostRecord, ...]:
        """All, by name."""
        return await stored(self.records.hosts)

    async def host(self, name: HostName) -> HostRecord:
        """One of them."""
        return await stored(self.records.host, name)

    async def add(self, wanted: HostWanted, by: Operator, *, dry_run: bool) -> HostRecord:
        """Look at it and remember it."""
        if not dry_run:
            refuse_held(self.held)
        if wanted.cloudstack is not None and wanted.cloudstack.site not in self.sites:
            text = f"there is no site {wanted.cloudstack.site} in [extension] sites"
            raise InputError(ErrorCode.SITE_UNKNOWN, text)
        access, content, way = wanted.access, _decoded(wanted.bundle), Way.BUNDLE
        if access is not None:
            if not content:
                content, shown = await self.gather(access)
                access = replace(access, target=replace(access.target, host_key=shown))
                way = Way.SSH
            elif not access.target.host_key:
                text = "--fingerprint is needed with a bundle: nobody asks the host for its key"
                raise InputError(ErrorCode.USAGE, text)
        facts = await _facts(content, way, wanted.name)
        now = self.clock.wall()
        record = HostRecord(
            name=HostName(wanted.name),
            access=access,
            controller=wanted.controller,
            cloudstack=wanted.cloudstack,
            system_uuid=known(facts.machine.system_uuid),
            enrolled_at=now,
            enrolled_by=by.who(),
            inspected_at=now,
            facts=facts,
        )
        if not dry_run:
            await stored(self.records.add, record, content)
            await stored(self.audit.audit, by.who(), "add host", record.name, way.value)
        return record

    async def inspect(
        self, name: HostName, bundle: str, by: Operator, *, dry_run: bool
    ) -> HostRecord:
        """Look at it anew."""
        if not dry_run:
            refuse_held(self.held)
        record = await self.host(name)
        content, way = _decoded(bundle), Way.BUNDLE
        if not content:
            if record.access is None:
                text = f"{name} is known by bundles alone: bring a newer one with --bundle"
                raise InputError(ErrorCode.USAGE, text)
            content, _ = await self.gather(record.access)
            way = Way.SSH
        facts = await _facts(content, way, name)
        _same_machine(record, facts)
        now = self.clock.wall()
        if not dry_run:
            await stored(partial(self.records.observe, name, facts, content, now=now))
            await stored(self.audit.audit, by.who(), "inspect host", name, way.value)
        uuid = known(facts.machine.system_uuid) or record.system_uuid
        return replace(record, facts=facts, inspected_at=now, system_uuid=uuid)

    async def bundle(self, name: HostName) -> bytes:
        """The texts of the newest facts."""
        return await stored(self.records.bundle, name)


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise InputError(ErrorCode.BUNDLE_INVALID, "bundle: no base64") from error


async def _facts(content: bytes, way: Way, source: str) -> HostFacts:
    """Off the loop: a large host takes a tenth of a second."""
    bundle = await asyncio.to_thread(read_bundle, content, source=source)
    return await asyncio.to_thread(read_facts, bundle, way=way)


def _same_machine(record: HostRecord, facts: HostFacts) -> None:
    """What is remembered of its identity must be said again, where it is said at all (13)."""
    seen = known(facts.machine.system_uuid)
    if record.system_uuid is None or seen is None or same_uuid(record.system_uuid, seen):
        return
    text = f"{record.name}: system uuid {record.system_uuid} is remembered, {seen} was seen"
    raise OperatorError(ErrorCode.OTHER_MACHINE, text)
