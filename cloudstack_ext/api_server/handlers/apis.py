"""What this server is and which commands a key may call."""

from collections.abc import Mapping
from types import MappingProxyType

from cloudstack_ext.api_server import refusals
from cloudstack_ext.api_server.call import Call, Handler
from cloudstack_ext.api_server.commands import Command, known_commands
from cloudstack_ext.api_server.permissions import may_call
from cloudstack_ext.api_server.wire import Wire, given

_CAPABILITIES: Wire = {
    "securitygroupsenabled": False,
    "dynamicrolesenabled": True,
    "userpublictemplateenabled": True,
    "supportELB": "false",
    "projectinviterequired": False,
    "allowusercreateprojects": True,
    "customdiskofferingminsize": 1,
    "customdiskofferingmaxsize": 1024,
    "regionsecondaryenabled": False,
    "kvmsnapshotenabled": True,
    "allowuserexpungerecovervm": True,
    "allowuserexpungerecovervolume": True,
    "allowuserviewalldomainaccounts": False,
    "allowuserforcestopvm": True,
    "kubernetesserviceenabled": False,
    "kubernetesclusterexperimentalfeaturesenabled": False,
    "customhypervisordisplayname": "Custom",
    "defaultuipagesize": 20,
    "instancesstatsretentiontime": 720,
    "instancesstatsuseronly": False,
    "instancesdisksstatsretentionenabled": False,
    "instancesdisksstatsretentiontime": 720,
    "sharedfsvmmincpucount": 2,
    "sharedfsvmminramsize": 1024,
    "instanceleaseenabled": False,
    "dynamicscalingenabled": False,
    "additionalconfigenabled": False,
}
_LENGTH = 255


def list_apis(call: Call) -> Wire:
    """listApis: what the key may call, so "too old" and "no rights" look alike."""
    role, name = call.state.role_of(call.caller), call.values.text("name")
    allowed = [
        command
        for command in known_commands().values()
        if command.name in call.served and may_call(role, command) and name in {None, command.name}
    ]
    if name is not None and not allowed:
        raise refusals.invalid(f"API {name} not found")
    rows = [_view(each) for each in allowed]
    return {"count": len(rows), "api": rows} if rows else {}


def list_capabilities(call: Call) -> Wire:
    """listCapabilities: the folder of extensions is for administrators."""
    path = {"extensionspath": call.settings.extensions_path} if call.root else {}
    return {
        "capability": {
            **_CAPABILITIES,
            "cloudstackversion": call.settings.version,
            "allowuserviewdestroyedvm": call.root,
            **path,
        }
    }


def _view(command: Command) -> Wire:
    parameters = [
        given(
            name=each.name,
            description=each.description,
            type=each.type.value,
            length=_LENGTH,
            required=each.required,
            since=each.since,
        )
        for each in command.parameters.values()
    ]
    return given(
        name=command.name,
        description=command.description,
        since=command.since,
        isasync=command.is_async,
        related="",
        params=parameters,
        response=[],
    )


COMMANDS: Mapping[str, Handler] = MappingProxyType(
    {"listApis": list_apis, "listCapabilities": list_capabilities}
)
