"""Which commands of CloudStack's API a step is made of. Pure.

Updates send the whole set of details, the mark included: CloudStack replaces the set.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from cloudstack_ext.parameters import Parameters, Value, listed, numbered
from cloudstack_ext.registration.actions import ACTIONS, ActionName, RoleType
from cloudstack_ext.registration.found import EXTERNAL
from cloudstack_ext.registration.model import MARK_KEY, Act, Kind, Step, Thing, Wish, mark_of

NOBODY: Final = "none"
"""User and password of a host: CloudStack wants them, and nobody uses them."""
NO_URL: Final = "http://example.invalid/none"
"""Of a template: CloudStack wants one, and never fetches it."""
TEMPLATE_UPDATES: Final = frozenset({"name", "displaytext", "ostypeid", "arch"})
TEMPLATE_SHARING: Final = frozenset({"ispublic", "isfeatured"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Ids:
    """What calls name that is not in the step itself; "" where it is not made yet."""

    database: str
    zone: str
    pod: str
    extension: str = ""
    cluster: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One command.

    Attributes:
        key: Where its answer has the object.
    """

    command: str
    parameters: Parameters
    key: str = ""


def calls(step: Step, ids: Ids) -> tuple[Call, ...]:
    """The commands of one step, in order; of a making step the first one makes it."""
    if step.act in {Act.MAKE, Act.REPLACE}:
        assert step.wish is not None
        return (_made(step.wish, ids),)
    if step.act in {Act.CHANGE, Act.TAKE_OVER}:
        return _changed(step, ids)
    if step.act is Act.RETIRE:
        return (_retired(step),)
    return _removed(step, ids) if step.act is Act.REMOVE else ()


def _details(wish: Wish, ids: Ids) -> dict[str, str]:
    return {**wish.details, MARK_KEY: mark_of(ids.database, wish.kind, wish.name)}


def _made(wish: Wish, ids: Ids) -> Call:
    details, fields = _details(wish, ids), wish.fields
    external = numbered("externaldetails", details)
    match wish.kind:
        case Kind.EXTENSION:
            folder, _, path = fields["path"].partition("/")
            given = {"name": folder, "type": "Orchestrator", "path": path}
            rest = _without(fields, "path") | numbered("details", details)
            return Call(command="createExtension", parameters=given | rest, key="extension")
        case Kind.CLUSTER:
            given = {"clustertype": "CloudManaged", "extensionid": ids.extension}
            parameters = _without(fields, "extensionid") | given | external
            return Call(command="addCluster", parameters=parameters, key="cluster")
        case Kind.HOST:
            where = {"zoneid": ids.zone, "podid": ids.pod, "clusterid": ids.cluster}
            who = {"hypervisor": "External", "url": wish.name}
            who |= {"username": NOBODY, "password": NOBODY, "hosttags": fields["hosttags"]}
            return Call(command="addHost", parameters=where | who | external, key="host")
        case Kind.ACTION:
            given = {"name": wish.name, "extensionid": ids.extension}
            given |= {"resourcetype": "VirtualMachine"}
            parameters = given | _action_fields(wish) | numbered("details", details)
            return Call(
                command="addCustomAction", parameters=parameters, key="extensioncustomaction"
            )
        case Kind.TEMPLATE:
            given = {"hypervisor": "External", "format": "External", "url": NO_URL}
            given |= {"extensionid": ids.extension, "requireshvm": "false"}
            parameters = _without(fields, "extensionid") | given | external
            return Call(command="registerTemplate", parameters=parameters, key="template")
        case Kind.OFFERING:
            parameters = _without(fields, "state") | external
            return Call(
                command="createServiceOffering", parameters=parameters, key="serviceoffering"
            )
        case Kind.FOREIGN_TEMPLATE:
            raise AssertionError("nobody makes somebody else's template")


def _without(fields: Mapping[str, str], *names: str) -> dict[str, Value]:
    """Fields that are set; an empty one is CloudStack's own default."""
    return {name: value for name, value in fields.items() if value and name not in names}


def _action_fields(wish: Wish) -> dict[str, Value]:
    rows = tuple(
        {
            "name": each.name,
            "type": each.kind,
            "required": "true" if each.required else "false",
            "validationformat": each.format,
        }
        for each in ACTIONS[ActionName(wish.name)].parameters
    )
    roles = wish.fields["allowedroletypes"] or RoleType.ADMIN.value
    fields = _without(wish.fields, "parameters") | {"allowedroletypes": roles}
    return fields | listed("parameters", rows)


def _changed(step: Step, ids: Ids) -> tuple[Call, ...]:
    if not step.changes or step.wish is None or step.thing is None:
        return ()
    wish, thing = step.wish, step.thing
    names = {change.field for change in step.changes}
    fields = {name for name in names if not name.startswith("details.")}
    full = _details(wish, ids)
    match wish.kind:
        case Kind.CLUSTER:
            own = fields != names or not thing.mark
            return _changed_cluster(wish, thing, fields, details=own, ids=ids)
        case Kind.TEMPLATE:
            return tuple(_changed_template(wish, thing, names, full))
        case _:
            return (_changed_plainly(wish, thing, fields, full),)


def _changed_plainly(wish: Wish, thing: Thing, fields: set[str], full: Mapping[str, str]) -> Call:
    """By one command, which replaces all details."""
    given: dict[str, Value] = {"id": thing.id, **_picked(wish, fields)}
    if wish.kind is Kind.ACTION:
        given |= _action_fields(wish)
        given.pop("parameters", None)
        if "parameters[0].name" not in given:
            given["cleanupparameters"] = "true"
    if "domainid" in fields:
        given["domainid"] = wish.fields["domainid"] or "public"
    command, details = _UPDATES[wish.kind]
    return Call(command=command, parameters=given | numbered(details, full))


_UPDATES: Final[Mapping[Kind, tuple[str, str]]] = {
    Kind.EXTENSION: ("updateExtension", "details"),
    Kind.HOST: ("updateHost", "externaldetails"),
    Kind.ACTION: ("updateCustomAction", "details"),
    Kind.OFFERING: ("updateServiceOffering", "externaldetails"),
}


def _picked(wish: Wish, fields: set[str]) -> dict[str, Value]:
    return {name: wish.fields[name] for name in sorted(fields)}


def _changed_cluster(
    wish: Wish, thing: Thing, fields: set[str], *, details: bool, ids: Ids
) -> tuple[Call, ...]:
    found: list[Call] = []
    full = _details(wish, ids)
    if "extensionid" in fields:
        resource: dict[str, Value] = {"resourceid": thing.id, "resourcetype": "Cluster"}
        resource |= {"extensionid": ids.extension} | numbered("details", full)
        found.append(Call(command="registerExtension", parameters=resource))
        details = False
    own = fields - {"extensionid"}
    if own or details:
        given: dict[str, Value] = {"id": thing.id, **_picked(wish, own)}
        given |= numbered("externaldetails", full)
        found.append(Call(command="updateCluster", parameters=given))
    return tuple(found)


def _changed_template(
    wish: Wish, thing: Thing, names: set[str], full: Mapping[str, str]
) -> list[Call]:
    """Its details have the prefix in updates, and those of others are sent along."""
    found = []
    if names - TEMPLATE_SHARING:
        details = {**thing.kept, **{f"{EXTERNAL}{key}": value for key, value in full.items()}}
        given: dict[str, Value] = {"id": thing.id, **_picked(wish, names & TEMPLATE_UPDATES)}
        found.append(
            Call(command="updateTemplate", parameters=given | numbered("details", details))
        )
    if names & TEMPLATE_SHARING:
        given = {"id": thing.id, **_picked(wish, set(TEMPLATE_SHARING))}
        found.append(Call(command="updateTemplatePermissions", parameters=given))
    return found


def _retired(step: Step) -> Call:
    if step.kind is Kind.OFFERING:
        given: dict[str, Value] = {"id": step.id or "", "state": "Inactive"}
        return Call(command="updateServiceOffering", parameters=given)
    given = {"id": step.id or "", "ispublic": "false", "isfeatured": "false"}
    return Call(command="updateTemplatePermissions", parameters=given)


def _removed(step: Step, ids: Ids) -> tuple[Call, ...]:
    one: dict[str, Value] = {"id": step.id or ""}
    match step.kind:
        case Kind.HOST:
            return (
                Call(command="prepareHostForMaintenance", parameters=one),
                Call(command="deleteHost", parameters=one),
            )
        case Kind.CLUSTER:
            resource: dict[str, Value] = {"resourceid": step.id or "", "resourcetype": "Cluster"}
            registered = bool(step.thing and step.thing.fields.get("extensionid"))
            given = resource | {"extensionid": ids.extension}
            unregister = (Call(command="unregisterExtension", parameters=given),)
            delete = Call(command="deleteCluster", parameters=one)
            return (*(unregister if registered else ()), delete)
        case _:
            return (Call(command=_DELETES[step.kind], parameters=one),)


_DELETES: Final[Mapping[Kind, str]] = {
    Kind.EXTENSION: "deleteExtension",
    Kind.ACTION: "deleteCustomAction",
    Kind.TEMPLATE: "deleteTemplate",
    Kind.OFFERING: "deleteServiceOffering",
}


def commands(steps: Sequence[Step], ids: Ids) -> tuple[str, ...]:
    """Names of all commands of a plan: the rules that its key needs."""
    return tuple(dict.fromkeys(call.command for step in steps for call in calls(step, ids)))
