"""CloudStack's rows as values: what is there, and whose mark it bears. Pure.

Source of the names of fields: recorded answers of a management server 4.22.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from cloudstack_ext.registration.actions import ActionParameter
from cloudstack_ext.registration.model import MARK_KEY, Kind, Thing
from cloudstack_ext.registration.places import account_of
from cloudstack_ext.registration.wishes import parameters_text, roles_text

Row = Mapping[str, Any]
EXTERNAL: Final = "External:"
"""Before our keys in answers about hosts, templates and offerings; others have none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """One instance, as far as it stands in the way of a removal."""

    id: str
    name: str
    state: str
    host: str
    template: str
    offering: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Everything that a plan looks at.

    Attributes:
        things: Of all kinds; templates and offerings of others too, which bear no mark.
        instances: Of our extensions and on our hosts.
        commands: That the key may call.
        settings: In force, by name.
        paths_ready: By extension id.
    """

    things: tuple[Thing, ...] = ()
    instances: tuple[Instance, ...] = ()
    commands: frozenset[str] = frozenset()
    settings: Mapping[str, str | None] = field(default_factory=dict)
    paths_ready: Mapping[str, bool] = field(default_factory=dict)

    def of(self, kind: Kind) -> tuple[Thing, ...]:
        """Those of one kind."""
        return tuple(thing for thing in self.things if thing.kind is kind)


def text_of(value: object) -> str:
    """A field's value in the one form that wishes have."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def sorted_list(value: object) -> str:
    """A list that CloudStack writes with commas."""
    return ",".join(sorted(filter(None, (each.strip() for each in text_of(value).split(",")))))


def extension(row: Row) -> Thing:
    """Of listExtensions; the path without the folder that is CloudStack's own."""
    fields = _fields(row, "description", "orchestratorrequirespreparevm", "state")
    fields["path"] = "/".join(text_of(row.get("path")).split("/")[-2:])
    return _thing(Kind.EXTENSION, row, fields, _plain(row.get("details")))


def clusters(rows: Iterable[Row], extensions: Iterable[Row]) -> tuple[Thing, ...]:
    """Of listClusters; their details stand in listExtensions (details=resource,external)."""
    details = {
        resource.get("id"): _plain(resource.get("details"))
        for extension_row in extensions
        for resource in extension_row.get("resources") or ()
    }
    return tuple(_cluster(row, details.get(row.get("id"), {})) for row in rows)


def _cluster(row: Row, details: Mapping[str, str]) -> Thing:
    fields = _fields(row, "arch", "zoneid", "podid", "extensionid")
    fields["clustername"] = text_of(row.get("name"))
    fields["hypervisor"] = text_of(row.get("hypervisortype"))
    return _thing(Kind.CLUSTER, row, fields, details)


def host(row: Row) -> Thing:
    """Of listHosts."""
    fields = _fields(row, "name", "clusterid", "state", "resourcestate")
    fields["hosttags"] = sorted_list(row.get("explicithosttags", row.get("hosttags")))
    return _thing(Kind.HOST, row, fields, _external(row.get("details")))


def action(row: Row) -> Thing:
    """Of listCustomActions."""
    fields = _fields(
        row, "description", "enabled", "timeout", "successmessage", "errormessage", "extensionid"
    )
    fields["allowedroletypes"] = roles_text(map(str, row.get("allowedroletypes") or ()))
    fields["parameters"] = parameters_text(
        tuple(
            ActionParameter(
                name=str(each.get("name")),
                required=bool(each.get("required")),
                kind=text_of(each.get("type")),
                format=text_of(each.get("validationformat")) or "NONE",
            )
            for each in row.get("parameters") or ()
        )
    )
    return _thing(Kind.ACTION, row, fields, _plain(row.get("details")))


def template(row: Row) -> Thing:
    """Of listTemplates; its owner may be a tenant who copied our mark."""
    fields = _fields(
        row,
        "name", "displaytext", "ostypeid", "arch", "ispublic", "isfeatured",
        "zoneid", "extensionid",
    )  # fmt: skip
    details = row.get("details")
    kept = {key: value for key, value in _plain(details).items() if not key.startswith(EXTERNAL)}
    hidden = fields["ispublic"] != "true" and fields["isfeatured"] != "true"
    return _thing(
        Kind.TEMPLATE,
        row,
        fields,
        _external(details),
        kept=kept,
        owner=account_of(row),
        hidden=hidden,
    )


def offering(row: Row) -> Thing:
    """Of listServiceOfferings; one of a domain may have been made by that domain's admin."""
    fields = _fields(
        row,
        "name", "displaytext", "cpunumber", "cpuspeed", "memory", "gpucount", "offerha", "hosttags",
        "state", "vgpuprofileid",
    )  # fmt: skip
    fields["domainid"] = sorted_list(row.get("domainid"))
    fields["zoneid"] = sorted_list(row.get("zoneid"))
    return _thing(
        Kind.OFFERING,
        row,
        fields,
        _external(row.get("serviceofferingdetails")),
        shared=bool(fields["domainid"]),
        hidden=fields["state"] != "Active",
    )


def instance(row: Row) -> Instance:
    """Of listVirtualMachines; a stopped one still belongs to its last host."""
    return Instance(
        id=text_of(row.get("id")),
        name=text_of(row.get("displayname") or row.get("name")),
        state=text_of(row.get("state")),
        host=text_of(row.get("hostid") or row.get("lasthostid")),
        template=text_of(row.get("templateid")),
        offering=text_of(row.get("serviceofferingid")),
    )


PARSERS: Final[Mapping[Kind, Callable[[Row], Thing]]] = {
    Kind.EXTENSION: extension,
    Kind.HOST: host,
    Kind.ACTION: action,
    Kind.TEMPLATE: template,
    Kind.OFFERING: offering,
}


def _fields(row: Row, *names: str) -> dict[str, str]:
    return {name: text_of(row.get(name)) for name in names}


def _plain(details: object) -> dict[str, str]:
    if not isinstance(details, Mapping):
        return {}
    return {str(key): text_of(value) for key, value in details.items()}


def _external(details: object) -> dict[str, str]:
    return {
        key.removeprefix(EXTERNAL): value
        for key, value in _plain(details).items()
        if key.startswith(EXTERNAL)
    }


def _thing(
    kind: Kind,
    row: Row,
    fields: Mapping[str, str],
    details: Mapping[str, str],
    **more: Any,  # noqa: ANN401 what Thing takes
) -> Thing:
    return Thing(
        kind=kind,
        id=text_of(row.get("id")),
        name=text_of(row.get("name")),
        fields=fields,
        details={key: value for key, value in details.items() if key != MARK_KEY},
        mark=details.get(MARK_KEY, ""),
        **more,
    )
