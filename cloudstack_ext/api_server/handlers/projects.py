"""Projects, which have an account of their own that their instances belong to."""

from collections.abc import Mapping
from types import MappingProxyType

from cloudstack_ext.api_server import refusals
from cloudstack_ext.api_server.call import Ask, Call, Handler, Reply, Work
from cloudstack_ext.api_server.handlers.instance_jobs import remove
from cloudstack_ext.api_server.model.accounts import Account, Project
from cloudstack_ext.api_server.model.instances import Instance, InstanceState
from cloudstack_ext.api_server.permissions import may_see
from cloudstack_ext.api_server.state import new_id
from cloudstack_ext.api_server.wire import Wire, has_keyword, listing, matches, stamp

_LIMITS: Mapping[str, str] = {
    "network": "20",
    "vpc": "20",
    "cpu": "40",
    "memory": "40960",
    "gpu": "20",
    "primarystorage": "200",
    "bucket": "20",
    "objectstorage": "400",
    "vm": "20",
    "ip": "20",
    "volume": "20",
    "snapshot": "20",
    "backup": "20",
    "backupstorage": "400",
    "template": "20",
}


def create(call: Call) -> Work:
    """createProject: the answer names it at once."""
    owner = call.state.accounts[call.caller.account]
    name = call.values.needed("name")
    if any(each.name == name for each in call.state.projects.values()):
        raise refusals.invalid(f"Project with name {name} already exists")
    account = Account(
        id=new_id(),
        name=f"PrjAcct-{name}-{call.state.next_number('project')}",
        domain=owner.domain,
        role=owner.role,
        number=call.state.next_number("account"),
        created=call.now,
    )
    project = Project(
        id=new_id(),
        name=name,
        display_text=call.values.text("displaytext") or name,
        owner=owner.id,
        account=account.id,
        created=call.now,
    )
    call.state.accounts[account.id] = account
    call.state.projects[project.id] = project
    return Work(
        finish=lambda _replies: {"project": _view(call, project)},
        kind="None",
        answer={"id": project.id},
    )


def list_(call: Call) -> Wire:
    """listProjects: with `listall` those of everybody whom the caller may see."""
    call.found_if_given("id", call.state.projects)
    everybody = bool(call.values.flag("listall"))
    rows = [
        _view(call, each)
        for each in call.state.projects.values()
        if matches(call.values, {"id": each.id, "name": each.name})
        and has_keyword(call.values, each.name)
        and (everybody or each.owner == call.caller.account)
        and may_see(call.state, call.caller, call.state.accounts[each.owner])
    ]
    return listing("project", rows, call.values)


def delete(call: Call) -> Work:
    """deleteProject: its instances get stop and delete, also protected ones."""
    project = call.found("id", call.state.projects)
    if not may_see(call.state, call.caller, call.state.accounts[project.owner]):
        raise refusals.not_permitted()
    theirs = [each for each in call.state.living() if each.project == project.id]

    def finish(_replies: tuple[Reply, ...]) -> Wire:
        for instance in theirs:
            remove(call, instance)
        del call.state.projects[project.id]
        return {"success": True}

    return Work(finish=finish, asks=tuple(ask for each in theirs for ask in _asks(each)))


def _asks(instance: Instance) -> list[Ask]:
    stops = (
        [Ask(action="stop", instance=instance)] if (instance.state is InstanceState.RUNNING) else []
    )
    known = instance.last_host is not None
    return [*stops, *([Ask(action="delete", instance=instance)] if known else [])]


def _view(call: Call, project: Project) -> Wire:
    owner = call.state.accounts[project.owner]
    domain = call.state.domains[owner.domain]
    counted: dict[str, object] = {}
    for name, most in _LIMITS.items():
        counted |= {f"{name}limit": most, f"{name}total": 0, f"{name}available": most}
    return {
        "id": project.id,
        "name": project.name,
        "displaytext": project.display_text,
        "domainid": domain.id,
        "domain": domain.name,
        "owner": [{"account": owner.name}],
        "projectaccountname": call.state.accounts[project.account].name,
        "state": "Active",
        "tags": [],
        **counted,
        "secondarystoragelimit": "400",
        "secondarystoragetotal": 0.0,
        "secondarystorageavailable": "400.0",
        "vmstopped": 0,
        "vmrunning": 0,
        "created": stamp(project.created),
    }


COMMANDS: Mapping[str, Handler] = MappingProxyType(
    {"createProject": create, "listProjects": list_, "deleteProject": delete}
)
