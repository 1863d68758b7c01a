"""Asking CloudStack for all that a plan looks at. Lists come whole, or nothing is decided."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from cloudstack_ext.client import RefusalError
from cloudstack_ext.parameters import Answer, Parameters
from cloudstack_ext.registration import found as parse
from cloudstack_ext.registration.found import Found, Instance
from cloudstack_ext.registration.model import Kind, Remembered, Thing
from cloudstack_ext.registration.places import Places, account_of, find_places
from cloudstack_ext.registration.settings import SettingName
from cloudstack_ext.registration.wanted import Wanted
from provisioner.errors import ErrorCode, InputError, TransientError

Row = Mapping[str, Any]

CHECK_INTERVAL: Final = "extension.path.state.check.interval"
HYPERVISOR: Final = "External"
NEEDED_TO_LOOK: Final = (
    "listAccounts",
    "listClusters",
    "listConfigurations",
    "listCustomActions",
    "listDomains",
    "listExtensions",
    "listHosts",
    "listOsTypes",
    "listPods",
    "listServiceOfferings",
    "listTemplates",
    "listVirtualMachines",
    "listZones",
    "queryAsyncJobResult",
)


class Api(Protocol):
    """What a registration needs of the client."""

    @property
    def key(self) -> str:
        """Of the user that asks; no secret."""
        ...

    async def call(self, command: str, parameters: Parameters | None = None) -> Answer:
        """The answer of one command, that of a job its result."""
        ...

    async def every(
        self, command: str, of: str, parameters: Parameters | None = None
    ) -> tuple[Answer, ...]:
        """All rows of a list command."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """How the objects of one kind are listed.

    Attributes:
        parameters: Of each asking; every object is in the answer of one of them.
    """

    command: str
    key: str
    parameters: tuple[Parameters, ...]


LISTINGS: Final[Mapping[Kind, Listing]] = {
    Kind.EXTENSION: Listing(
        command="listExtensions", key="extension", parameters=({"details": "resource,external"},)
    ),
    Kind.HOST: Listing(command="listHosts", key="host", parameters=({"hypervisor": HYPERVISOR},)),
    Kind.TEMPLATE: Listing(
        command="listTemplates",
        key="template",
        parameters=({"templatefilter": "all", "listall": True, "hypervisor": HYPERVISOR},),
    ),
    Kind.OFFERING: Listing(
        command="listServiceOfferings",
        key="serviceoffering",
        parameters=({"state": "Active"}, {"state": "Inactive"}),
    ),
}


NO_SUCH_ID: Final = 431
LOOKUPS: Final[Mapping[Kind, tuple[str, str, Parameters]]] = {
    Kind.EXTENSION: ("listExtensions", "extension", {}),
    Kind.CLUSTER: ("listClusters", "cluster", {}),
    Kind.HOST: ("listHosts", "host", {}),
    Kind.ACTION: ("listCustomActions", "extensioncustomaction", {}),
    Kind.TEMPLATE: ("listTemplates", "template", {"templatefilter": "all"}),
    Kind.OFFERING: ("listServiceOfferings", "serviceoffering", {}),
}
"""How one object is asked for by its id: command, key of its rows, what else it wants."""


async def allowed_commands(api: Api) -> frozenset[str]:
    """What the key may call.

    Raises:
        InputError: CLOUDSTACK_RIGHTS: not even look; all missing rules are named.
    """
    answer = await api.call("listApis")
    allowed = frozenset(str(row["name"]) for row in answer.get("api", ()))
    refuse_missing(NEEDED_TO_LOOK, allowed)
    return allowed


def refuse_missing(needed: Sequence[str], allowed: frozenset[str]) -> None:
    """Raises InputError CLOUDSTACK_RIGHTS, which names every rule to add."""
    missing = sorted(set(needed) - allowed)
    if missing:
        text = "not there or not allowed for this key; add to its role the rules " + ", ".join(
            missing
        )
        raise InputError(ErrorCode.CLOUDSTACK_RIGHTS, text)


async def read_places(
    api: Api, wanted: Wanted, account: str
) -> tuple[Places | None, tuple[str, ...]]:
    """Ids of zone, pod, systems and domains, or every reason why they are not known."""
    return find_places(
        wanted,
        zones=await api.every("listZones", "zone"),
        pods=await api.every("listPods", "pod"),
        systems=await api.every("listOsTypes", "ostype"),
        domains=await api.every("listDomains", "domain", {"listall": True}),
        account=account,
    )


async def read_own_account(api: Api) -> Answer | None:
    """The row of the key's own account.

    Without listall CloudStack lists that one alone; None where a release lists more.
    """
    rows = await api.every("listAccounts", "account")
    return rows[0] if len(rows) == 1 else None


async def read_account(api: Api, own: Answer | None, commands: frozenset[str]) -> str:
    """Of the key itself, as `Thing.owner` has it; "" where it is not to be told.

    Args:
        api: Is asked whose the key is, where its own account is not known.
        own: As `read_own_account` found it.
        commands: That the key may call.
    """
    if own is not None:
        return account_of(own, "name")
    if "getUser" not in commands:
        return ""
    user = (await api.call("getUser", {"userapikey": api.key})).get("user", {})
    return account_of(user)


async def read_things(api: Api, kind: Kind) -> tuple[Thing, ...]:
    """All objects of one kind, ours and others'."""
    if kind in LISTINGS and kind is not Kind.EXTENSION:
        return tuple(map(parse.PARSERS[kind], await _rows(api, kind)))
    extensions = await _rows(api, Kind.EXTENSION)
    if kind is Kind.EXTENSION:
        return tuple(map(parse.extension, extensions))
    if kind is Kind.CLUSTER:
        return parse.clusters(await api.every("listClusters", "cluster"), extensions)
    return await _actions(api, [str(row["id"]) for row in extensions])


async def read_found(
    api: Api,
    commands: frozenset[str],
    *,
    zone: str,
    extension: str,
    memory: Sequence[Remembered],
    database: str,
) -> Found:
    """Everything, in some ten calls, however many objects there are.

    Args:
        api: Of the key that acts.
        commands: That the key may call.
        zone: Its id: templates of others are none of our business.
        extension: Its name in the file: actions and instances of others are none either.
        memory: All rows of this site: the file may name another extension than was registered.
        database: The id of our database, which is in every mark.
    """
    extensions = await _rows(api, Kind.EXTENSION)
    clusters = parse.clusters(await api.every("listClusters", "cluster"), extensions)
    things = [*map(parse.extension, extensions), *clusters]
    for kind in (Kind.HOST, Kind.TEMPLATE, Kind.OFFERING):
        things += map(parse.PARSERS[kind], await _rows(api, kind))
    remembered = {row.id for row in memory if row.id}
    ids, hosts = (
        [
            thing.id
            for thing in things
            if thing.kind is kind
            and (
                thing.id in remembered
                or thing.mark.startswith(f"{database}/{kind}/")
                or (kind is Kind.EXTENSION and thing.name == extension)
            )
        ]
        for kind in (Kind.EXTENSION, Kind.HOST)
    )
    things += await _actions(api, ids)
    return Found(
        things=tuple(thing for thing in things if _in_zone(thing, zone)),
        instances=await read_instances(api, extensions=ids, hosts=hosts),
        commands=commands,
        settings=await read_settings(api),
        paths_ready={str(row["id"]): bool(row.get("pathready")) for row in extensions},
    )


async def read_instances(
    api: Api, *, extensions: Sequence[str] = (), hosts: Sequence[str] = ()
) -> tuple[Instance, ...]:
    """Of these extensions and on these hosts: hidden ones and those of projects too.

    A stopped one is on no host any more; its extension still shows it.
    """
    found: dict[str, Instance] = {}
    for of, ids in (("extensionid", extensions), ("hostid", hosts)):
        for each in ids:
            for more in ({}, {"displayvm": False}):
                asked: Parameters = {"listall": True, "projectid": "-1", of: each}
                rows = await api.every("listVirtualMachines", "virtualmachine", {**asked, **more})
                found |= {str(row["id"]): parse.instance(row) for row in rows}
    return tuple(found.values())


async def confirm_absence(api: Api, found: Found, memory: Sequence[Remembered]) -> None:
    """Where a list shows nothing of a kind that we have registered, have it denied by id.

    An empty answer is no absence: an API that falters gives 200 with empty lists, and we would
    register everything anew. An id that is no more is answered with a refusal.

    Raises:
        TransientError: CLOUDSTACK_LIST_CUT: neither shown nor denied.
    """
    for kind, (command, key, more) in LOOKUPS.items():
        ids = [row.id for row in memory if row.kind is kind and row.id and not row.retired]
        if not ids or {thing.id for thing in found.of(kind)} & set(ids):
            continue
        try:
            await api.every(command, key, {**more, "id": ids[0]})
        except RefusalError as error:
            if error.status == NO_SUCH_ID:
                continue
            raise
        text = f"{command} neither shows nor denies {kind} {ids[0]}: nothing is decided from that"
        raise TransientError(ErrorCode.CLOUDSTACK_LIST_CUT, text)


async def read_settings(api: Api) -> Mapping[str, str | None]:
    """Those that are advised upon, and how often paths are checked."""
    rows = await api.every("listConfigurations", "configuration")
    wanted = {*(name.value for name in SettingName), CHECK_INTERVAL}
    return {str(row["name"]): row.get("value") for row in rows if row["name"] in wanted}


async def _rows(api: Api, kind: Kind) -> tuple[Answer, ...]:
    listing = LISTINGS[kind]
    asked = [await api.every(listing.command, listing.key, each) for each in listing.parameters]
    return tuple(row for rows in asked for row in rows)


async def _actions(api: Api, extensions: Sequence[str]) -> tuple[Thing, ...]:
    """Names are unique within an extension only, so each is asked of its own."""
    rows = [
        row
        for extension in extensions
        for row in await api.every(
            "listCustomActions", "extensioncustomaction", {"extensionid": extension}
        )
    ]
    return tuple(map(parse.action, rows))


def _in_zone(thing: Thing, zone: str) -> bool:
    """A template of several zones is listed once a zone."""
    return thing.kind is not Kind.TEMPLATE or thing.fields["zoneid"] in {zone, ""}
