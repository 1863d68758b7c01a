"""Routes of servers: look, enrol, and what an operator asks of one."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Annotated, Any, Final

from provisioner.config import Role
from provisioner.errors import ErrorCode
from provisioner.operations.desk import (
    Adopt,
    Asked,
    CatalogueDesk,
    EndMaintenance,
    Inspect,
    Maintain,
    Provide,
    Quarantine,
    Rebaseline,
    Retire,
    ServerAct,
    ServerDesk,
    Verify,
)
from provisioner.operations.server_change import Change
from provisioner.secret import Secret
from provisioner.servers.manifest import (
    Host,
    Line,
    NicEntry,
    PortNumber,
    ServerEntry,
    booting_cards,
)
from provisioner.servers.model import Maintenance, PowerReading, ServerRecord, State
from provisioner.service.routes import Asking, Parameter, Route
from provisioner.service.routes_catalogue import Digest, named
from provisioner.strict import matching
from provisioner.units import Epoch, InstanceId, PoolName, ServerName, SiteName

Reason = Annotated[str, matching(r"[^\x00-\x1f\x7f]{3,500}", "one line of 3 to 500 characters")]
UUID: Final = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
DiskSerial = Annotated[str, matching(r"[!-~ ]{1,128}", "a disk's serial")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSummary:
    """A server in a list."""

    name: ServerName
    pool: PoolName
    state: State
    power: PowerReading
    dirty: bool
    epoch: Epoch
    maintenance: Maintenance | None
    health: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerList:
    """All servers that were asked for, by name."""

    servers: tuple[ServerSummary, ...]
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerDetail:
    """All that is remembered of one server; its credentials are never shown."""

    server: ServerRecord
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Enrolment:
    """A server and the password of its controller."""

    server: ServerEntry
    password: Secret


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeWanted:
    """New values of an enrolled server; what is left out stays.

    Attributes:
        certificate_sha256: Of the controller, in hex; pinned from now on.
        nics: All cards, in the order of tenant ports.
    """

    address: Host | None = None
    port: PortNumber | None = None
    user: Line | None = None
    password: Secret | None = None
    certificate_sha256: Digest | None = None
    nics: tuple[NicEntry, ...] | None = None

    def contradictions(self) -> Iterator[str]:
        """One card boots from the network."""
        yield from () if self.nics is None else booting_cards(self.nics)

    def change(self) -> Change:
        """As the desk takes it."""
        cards = None if self.nics is None else tuple(each.nic() for each in self.nics)
        names = ("address", "port", "user", "password", "certificate_sha256")
        return Change(nics=cards, **{name: getattr(self, name) for name in names})


@dataclass(frozen=True, slots=True, kw_only=True)
class NoChoice:
    """Nothing to choose: an empty object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvideChoice:
    """Which disks may be erased although they carry data, by serial."""

    erase: tuple[DiskSerial, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BecauseOf:
    """Why, in one line; it stays on record with the operator's name."""

    reason: Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptionChoice:
    """Whose it is: a site of the configuration, and the uuid of its instance."""

    site: Annotated[str, matching(r"[a-z0-9][a-z0-9-]{0,62}", "a site's name")]
    instance: Annotated[str, matching(UUID, "a uuid, in lower case")]


@dataclass(frozen=True, slots=True, kw_only=True)
class RebaselineChoice:
    """What was repaired, in one line, and which disks may be erased although they carry data."""

    reason: Reason
    erase: tuple[DiskSerial, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _ActRoute:
    """What turns a body into an act."""

    word: str
    summary: str
    act: Callable[[Any], ServerAct]
    takes: type = NoChoice
    role: Role = Role.OPERATOR
    method: str = "POST"


_ACTS: Final = (
    _ActRoute(
        word="verify",
        summary="Speak to its controller again.",
        act=lambda _: Verify(),
    ),
    _ActRoute(
        word="inspect",
        summary="Boot the agent and store what it finds.",
        act=lambda _: Inspect(),
    ),
    _ActRoute(
        word="provide",
        summary="Wipe it and offer it.",
        act=lambda body: Provide(erase=body.erase),
        takes=ProvideChoice,
    ),
    _ActRoute(
        word="adopt",
        summary="Give it, as it runs, to an instance; nothing is called.",
        act=lambda body: Adopt(site=SiteName(body.site), instance=InstanceId(body.instance)),
        takes=AdoptionChoice,
    ),
    _ActRoute(
        word="rebaseline",
        summary="Take a new baseline after a repair, wipe it and offer it.",
        act=lambda body: Rebaseline(reason=body.reason, erase=body.erase),
        takes=RebaselineChoice,
    ),
    _ActRoute(
        word="maintenance",
        summary="Do not hand it out.",
        act=lambda body: Maintain(reason=body.reason),
        takes=BecauseOf,
    ),
    _ActRoute(
        word="maintenance",
        summary="Hand it out again.",
        act=lambda _: EndMaintenance(),
        method="DELETE",
    ),
    _ActRoute(
        word="quarantine",
        summary="Off, port shut in, until a person has looked at it.",
        act=lambda body: Quarantine(reason=body.reason),
        takes=BecauseOf,
    ),
    _ActRoute(
        word="retire",
        summary="Out of service for good.",
        act=lambda body: Retire(reason=body.reason),
        takes=BecauseOf,
        role=Role.ADMIN,
    ),
)

_FILTERS: Final = {
    "pool": Parameter(kind=str, text="Only servers of this pool."),
    "state": Parameter(kind=State, text="Only servers in this state."),
}
_ONE: Final = "/v1/servers/{name}"


def server_routes(desk: ServerDesk, catalogue: CatalogueDesk) -> tuple[Route, ...]:
    """The table."""

    async def listed(asking: Asking) -> ServerList:
        pool, state = asking.query.get("pool"), asking.query.get("state")
        if pool is not None:
            named(await catalogue.pools(), pool, ErrorCode.POOL_UNKNOWN, "pool")
        shown = [
            _summary(each)
            for each in await desk.servers()
            if pool in {None, each.pool} and state in {None, each.state}
        ]
        return ServerList(servers=tuple(shown))

    async def shown(asking: Asking) -> ServerDetail:
        return ServerDetail(server=await desk.server(ServerName(asking.path["name"])))

    async def enrolled(asking: Asking) -> Asked:
        wanted: Enrolment = asking.body
        entry = wanted.server.without_password_file()
        return await desk.enrol(entry, wanted.password, asking.operator, dry_run=asking.dry_run)

    async def changed(asking: Asking) -> Asked:
        name, wanted = ServerName(asking.path["name"]), asking.body.change()
        return await desk.change(name, wanted, asking.operator, dry_run=asking.dry_run)

    return (
        Route(
            method="POST",
            path=f"{_ONE}/change",
            role=Role.OPERATOR,
            answer=changed,
            summary="Correct address, user, password, certificate or cards; it is proven anew.",
            takes=ChangeWanted,
            gives=Asked,
            dries=True,
        ),
        Route(
            method="GET",
            path="/v1/servers",
            role=Role.VIEWER,
            answer=listed,
            summary="All servers.",
            gives=ServerList,
            query=_FILTERS,
        ),
        Route(
            method="GET",
            path=_ONE,
            role=Role.VIEWER,
            answer=shown,
            summary="One server with its baseline.",
            gives=ServerDetail,
        ),
        Route(
            method="POST",
            path="/v1/servers",
            role=Role.OPERATOR,
            answer=enrolled,
            summary="Enrol a server and verify its controller.",
            takes=Enrolment,
            gives=Asked,
            dries=True,
        ),
        *(_act_route(desk, each) for each in _ACTS),
    )


async def named_server(desk: ServerDesk, asking: Asking) -> ServerName | None:
    """The server that the query names, None where it names none.

    Raises:
        RackwrightError: SERVER_UNKNOWN: an empty list would look like one that did nothing.
    """
    name = asking.query.get("server")
    return None if name is None else (await desk.server(ServerName(name))).name


def _act_route(desk: ServerDesk, kind: _ActRoute) -> Route:
    async def acted(asking: Asking) -> Asked:
        name, act = ServerName(asking.path["name"]), kind.act(asking.body)
        return await desk.act(name, act, asking.operator, dry_run=asking.dry_run)

    return Route(
        method=kind.method,
        path=f"{_ONE}/{kind.word}",
        role=kind.role,
        answer=acted,
        summary=kind.summary,
        takes=kind.takes,
        gives=Asked,
        dries=True,
    )


def _summary(record: ServerRecord) -> ServerSummary:
    return ServerSummary(
        **{each.name: getattr(record, each.name) for each in fields(ServerSummary)}
    )
