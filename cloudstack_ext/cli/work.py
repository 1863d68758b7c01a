"""What every command of a registration does first: read the file, ask the service, look."""

import asyncio
import os
import platform
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from cloudstack_ext.api_key import ApiKey
from cloudstack_ext.cli.key_file import read_api_key
from cloudstack_ext.registration.certificates import CertificateEnds
from cloudstack_ext.registration.inventory import OwnPool, strangers
from cloudstack_ext.registration.memory import ServiceMemory
from cloudstack_ext.registration.reading import Api
from cloudstack_ext.registration.settings import Advice, advice
from cloudstack_ext.registration.survey import Survey, survey
from cloudstack_ext.registration.wanted import Wanted, parse_wanted
from provisioner.cli.output import printable
from provisioner.cli.session import Door, Session, read_text
from provisioner.config import Times
from provisioner.errors import ErrorCode
from provisioner.ports.clock import Clock
from provisioner.ports.shell import OpenShell
from provisioner.strict import refused
from provisioner.units import Seconds, SiteName

T = TypeVar("T")
RETIRED = "RETIRED"


class Client(Api, Protocol):
    """The client that a command opens and closes."""

    @property
    def ahead_s(self) -> float | None:
        """CloudStack's clock before ours."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrationDoors:
    """What the composition root gives.

    Attributes:
        connect: Opens the client; nothing is asked yet.
        shell: Reaches management servers over SSH.
        certificate_ends: Until when one in PEM is good.
    """

    clock: Clock
    connect: Callable[[Wanted, ApiKey, Clock], Client]
    shell: OpenShell
    certificate_ends: CertificateEnds


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One command's doors and values."""

    wanted: Wanted
    client: Client
    memory: ServiceMemory
    clock: Clock
    answer_within: Seconds

    async def look(self) -> Survey:
        """What is there now, and the plan."""
        rows = await self.memory.rows()
        database = await self.memory.database()
        return await survey(self.client, self.wanted, rows, database=database)

    def advice(self, seen: Survey) -> tuple[Advice, ...]:
        """Settings that should be looked at."""
        return advice(seen.found.settings, answer_within=self.answer_within)


def run(
    session: Session,
    doors: RegistrationDoors,
    file: Path,
    key_file: Path,
    what: Callable[[Work], Awaitable[T]],
    *,
    known_pools: bool = True,
) -> T:
    """Do something with one file and one key.

    Args:
        session: This call.
        doors: What it may reach.
        file: The registration file.
        key_file: The API key.
        what: Is given all of it.
        known_pools: Refuse a file that names pools or images which this Rackwright has not.

    Raises:
        InputError: REGISTRATION_INVALID: the file, with all its problems, before CloudStack is
            asked anything.
        RackwrightError: As the client, the service and `what` raise.
    """
    wanted = parse_wanted(read_text(file), source=str(file), folder=file.absolute().parent)
    service = session.service()
    problems = list(strangers(wanted, own_pools(service))) if known_pools else []
    if problems:
        raise refused(problems, code=ErrorCode.REGISTRATION_INVALID, source=str(file))
    key = read_api_key(key_file)
    client = doors.connect(wanted, key, doors.clock)
    work = Work(
        wanted=wanted,
        client=client,
        memory=ServiceMemory(service, SiteName(wanted.site), _here()),
        clock=doors.clock,
        answer_within=_answer_within(session),
    )

    async def running() -> T:
        return await what(work)

    try:
        return asyncio.run(running())
    finally:
        client.close()


def _here() -> str:
    return f"process {os.getpid()} on {printable(platform.node())}"


def own_pools(service: Door) -> dict[str, OwnPool]:
    """Pools of this Rackwright, with how many servers each has."""
    servers = service.ask("GET", "/v1/servers")["servers"]
    counted = Counter(each["pool"] for each in servers if each["state"] != RETIRED)
    return {
        pool["name"]: OwnPool(images=frozenset(pool["images"]), servers=counted[pool["name"]])
        for pool in service.ask("GET", "/v1/pools")["pools"]
    }


def _answer_within(session: Session) -> Seconds:
    """Of the service's settings, where they lie on this machine."""
    times = session.settings().times if session.config.exists() else Times()
    return Seconds(times.create_answer_within_s)
