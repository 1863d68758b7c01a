"""runCustomAction: everything is checked in the job, and its failure is the job's."""

import re
from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType

from cloudstack_ext.api_server import refusals
from cloudstack_ext.api_server.call import Ask, Call, Handler, Reply, Work
from cloudstack_ext.api_server.handlers.custom_actions import may_run
from cloudstack_ext.api_server.handlers.placement import extension_of_host
from cloudstack_ext.api_server.model.catalogue import CustomAction, ExtensionState
from cloudstack_ext.api_server.model.instances import Instance, InstanceState
from cloudstack_ext.api_server.model.places import MAINTAINED, Host
from cloudstack_ext.api_server.permissions import may_see
from cloudstack_ext.api_server.wire import Wire

_FAILED = "Internal error running action"
_UNABLE = "Unable to run custom action"
_DATE = "%Y-%m-%dT%H:%M:%S%z"


def run(call: Call) -> Work:
    """The job is done also where the action failed: `customactionresult.success` says it."""
    action = call.found("customactionid", call.state.actions)
    instance = call.state.instances.get(call.values.needed("resourceid"))
    try:
        ask = _ask(call, action, instance)
    except refusals.RefusalError as error:
        refusal = error

        def refuse(_replies: tuple[Reply, ...]) -> Wire:
            raise refusal

        return Work(finish=refuse)
    host = call.state.hosts.get(ask.instance.host or ask.instance.last_host or "")
    unable = host is not None and host.state in MAINTAINED

    def finish(replies: tuple[Reply, ...]) -> Wire:
        reply = (
            replies[0] if replies else Reply(success=False, output="Unable to run custom action")
        )
        return {"customactionresult": _result(call, action, ask.instance, reply)}

    return Work(finish=finish, asks=() if unable else (ask,))


def _ask(call: Call, action: CustomAction, instance: Instance | None) -> Ask:
    if instance is None or instance.removed:
        raise refusals.invalid("Invalid resource ID specified")
    if not may_see(call.state, call.caller, call.state.accounts[instance.account]):
        raise refusals.RefusalError(refusals.INTERNAL, refusals.NO_PERMISSION)
    if not action.enabled or not may_run(call, action):
        raise refusals.invalid(_FAILED)
    parameters = _checked(action, (call.values.rows("parameters") or ({},))[0])
    host = call.state.hosts.get(instance.host or instance.last_host or "")
    if host is None or instance.state is InstanceState.ERROR or not _is_enabled(call, host):
        raise refusals.internal(_FAILED)
    return Ask(
        action=action.name,
        instance=instance,
        parameters=parameters,
        timeout_s=action.timeout_s,
    )


def _is_enabled(call: Call, host: Host) -> bool:
    extension = extension_of_host(call, host)
    return extension is not None and extension.state is ExtensionState.ENABLED


def _checked(action: CustomAction, given: Mapping[str, str]) -> dict[str, str]:
    """Those that the action declares; the rest is dropped without a word."""
    checked: dict[str, str] = {}
    for declared in action.parameters:
        name, text = str(declared["name"]), given.get(str(declared["name"]), "")
        if not text:
            if declared["required"]:
                raise refusals.invalid(f"Missing or empty required parameter: {name}")
            continue
        options = declared.get("valueoptions")
        listed = not isinstance(options, list) or text in options
        if not listed or not _is_of_type(str(declared["type"]), text):
            raise refusals.invalid(f"Invalid value for parameter '{name}': {text}")
        checked[name] = text
    return checked


def _is_of_type(kind: str, text: str) -> bool:
    match kind:
        case "NUMBER":
            return re.fullmatch(r"-?\d+(\.\d+)?", text) is not None
        case "DATE":
            return _is_date(text)
        case _:
            return True


def _is_date(text: str) -> bool:
    """With time and zone: a bare date is refused."""
    try:
        datetime.strptime(text, _DATE).astimezone()
    except ValueError:
        return False
    return True


def _result(call: Call, action: CustomAction, instance: Instance, reply: Reply) -> Wire:
    words = action.success_message if reply.success else action.error_message
    default = (
        "Successfully completed {{actionName}}"
        if reply.success
        else ("Failed to complete {{actionName}}")
    )
    message = words or default
    for name, text in (
        ("actionName", action.name),
        ("extensionName", call.state.extensions[action.extension].name),
        ("resourceName", instance.internal_name),
    ):
        message = message.replace(f"{{{{{name}}}}}", text)
    return {
        "id": action.id,
        "name": action.name,
        "success": reply.success,
        "result": {"details": reply.output, "message": message},
    }


COMMANDS: Mapping[str, Handler] = MappingProxyType({"runCustomAction": run})
