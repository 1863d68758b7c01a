"""Start, stop, reboot, destroy and expunge: what the extension is asked, what is left after it."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from cloudstack_ext.api_server import refusals
from cloudstack_ext.api_server.call import Ask, Call, Handler, Reply, Work
from cloudstack_ext.api_server.handlers.instance_view import EXPUNGED, described, view, visible
from cloudstack_ext.api_server.handlers.placement import (
    blocked,
    extension_of_host,
    is_callable,
    no_destination,
    planned_host,
)
from cloudstack_ext.api_server.model.instances import Instance, InstanceState
from cloudstack_ext.api_server.model.places import Host, ResourceState
from cloudstack_ext.api_server.wire import Wire

OBJECT = "virtualmachine"
KIND = "VirtualMachine"
DEPLOY = "deployvm"
"""Detail of an instance whose next start is a create."""
_FREED = "Message.ReservedCapacityFreed.Flag"
_FORCE = "forced"
_KEEPS_VLAN = "Shared"


def start(call: Call) -> Work:
    """startVirtualMachine: on its last host; a create where it never ran or `deployvm` says so."""
    instance = visible(call, "id")
    if instance.state is not InstanceState.STOPPED:
        text = f"Instance {instance.internal_name} is already running"
        return _refused(instance, refusals.invalid(text))
    return started(call, instance)


def stop(call: Call) -> Work:
    """stopVirtualMachine: of a stopped one nothing is done, and that is success."""
    instance = visible(call, "id")
    if instance.state is not InstanceState.RUNNING:
        return _work(instance, (), lambda _replies: {OBJECT: view(call, instance)})
    reason = blocked(call, _host(call, instance))
    forced = bool(call.values.flag(_FORCE))

    def finish(replies: tuple[Reply, ...]) -> Wire:
        failed = _failure(reason, replies)
        if failed is not None and not forced:
            raise refusals.internal(f"Unable to stop {described(instance)}")
        _stopped(call, instance)
        if failed is not None:
            raise refusals.internal(f"Unable to stop the virtual machine due to {failed}")
        return {OBJECT: view(call, instance)}

    return _work(instance, () if reason else (Ask(action="stop", instance=instance),), finish)


def reboot(call: Call) -> Work:
    """rebootVirtualMachine: it stays Running whatever comes of it."""
    instance = visible(call, "id")
    host = _host(call, instance)
    if instance.state is not InstanceState.RUNNING or host is None:
        text = f"Unable to reboot {described(instance)}, it is not in Running state"
        return _refused(instance, refusals.internal(text))
    reason = blocked(call, host)

    def finish(replies: tuple[Reply, ...]) -> Wire:
        failed = _failure(reason, replies)
        if failed is not None:
            raise refusals.internal(
                f"Unable to reboot VM {described(instance)} on Host"
                f' {{"id":{host.number},"name":"{host.name}","type":"Routing","uuid":"{host.id}"}}'
                f" due to {failed}"
            )
        return {OBJECT: view(call, instance)}

    return _work(instance, () if reason else (Ask(action="reboot", instance=instance),), finish)


def destroy(call: Call) -> Work:
    """destroyVirtualMachine: a stop; with `expunge` a delete after it."""
    instance = visible(call, "id")
    if instance.protected:
        return _refused(
            instance,
            refusals.invalid(
                f"Instance [id = {instance.id}, name = {instance.internal_name}] has delete"
                " protection enabled and cannot be deleted."
            ),
        )
    return _ended(call, instance, expunge=bool(call.values.flag("expunge")))


def expunge(call: Call) -> Work:
    """expungeVirtualMachine: of a destroyed one."""
    return _ended(call, visible(call, "id"), expunge=True, only_success=True)


def recover(call: Call) -> Wire:
    """recoverVirtualMachine: Stopped again, nothing is called."""
    instance = visible(call, "id")
    if instance.state is not InstanceState.DESTROYED:
        raise refusals.invalid(f"Unable to recover {described(instance)}")
    instance.state = InstanceState.STOPPED
    arch = call.state.templates[instance.template].arch
    shown = {"instancename": instance.internal_name, "arch": arch}  # also to users, here alone
    return {OBJECT: {**view(call, instance), **shown}}


def remove(call: Call, instance: Instance) -> None:
    """What is left of an instance whose expunging has ended well."""
    instance.removed, instance.state = True, InstanceState.EXPUNGING
    instance.host = instance.last_host = None
    instance.updated = call.now


def started(call: Call, instance: Instance, *, answer: Wire | None = None) -> Work:
    """The job that makes it run; it fails as the planner or the extension does."""
    creates = instance.last_host is None or instance.details.get(DEPLOY) == "true"
    try:
        host = _start_host(call, instance)
    except refusals.RefusalError as refusal:
        if answer is not None:
            instance.state = InstanceState.ERROR
        return _refused(instance, refusal, answer=answer)
    reason = blocked(call, host)
    if host.state in {ResourceState.MAINTENANCE, ResourceState.ERROR_IN_MAINTENANCE}:
        reason = reason or "the host is in maintenance"
    if creates:
        instance.details[DEPLOY] = "true"
    instance.state, instance.host = InstanceState.STARTING, host.id
    for nic in instance.nics:
        nic.reserved = True
    instance.updated = call.now

    def finish(replies: tuple[Reply, ...]) -> Wire:
        if _failure(reason, replies) is not None:
            instance.host = None
            instance.state = InstanceState.STOPPED if answer is None else InstanceState.ERROR
            raise refusals.internal(
                "Unable to orchestrate the start of VM instance"
                f' {{"instanceName":"{instance.internal_name}","uuid":"{instance.id}"}}.'
            )
        instance.details.pop(DEPLOY, None)
        instance.state, instance.last_host = InstanceState.RUNNING, host.id
        return {OBJECT: view(call, instance)}

    ask = Ask(action="deploy" if creates else "start", instance=instance)
    return _work(instance, () if reason else (ask,), finish, answer=answer)


def _start_host(call: Call, instance: Instance) -> Host:
    """The last one where there is one; else the planner's, or the one that was asked for."""
    if call.values.text("hostid") is not None and call.root:
        return call.found("hostid", call.state.hosts)
    if instance.last_host is None:
        return planned_host(call, instance, call.state.offerings[instance.offering])
    host = call.state.hosts.get(instance.last_host)
    if host is None:
        text = 'Cannot invoke "com.cloud.host.HostVO.getDataCenterId()" because "h" is null'
        raise refusals.internal(text)
    extension = extension_of_host(call, host)
    if extension is not None and not is_callable(extension):
        raise no_destination(instance)
    return host


def _ended(call: Call, instance: Instance, *, expunge: bool, only_success: bool = False) -> Work:
    running = instance.state is InstanceState.RUNNING
    host = _host(call, instance) or call.state.hosts.get(instance.last_host or "")
    lost = instance.last_host is not None and host is None
    reason = blocked(call, host) if running or (expunge and host is not None) else None
    stops = [Ask(action="stop", instance=instance)] if running else []
    deletes = [Ask(action="delete", instance=instance)] if expunge and host is not None else []

    def finish(replies: tuple[Reply, ...]) -> Wire:
        failed = _failure(reason, replies)
        if failed is not None and running and (reason or len(replies) == 1):
            raise refusals.internal(f"Unable to stop {described(instance)}")
        if running:
            _stopped(call, instance)
        if not expunge:
            instance.state = InstanceState.DESTROYED
            return {OBJECT: view(call, instance)}
        instance.state = InstanceState.EXPUNGING
        if lost:
            raise refusals.internal(f"Failed to expunge vm {described(instance)}")
        if failed is not None:
            raise refusals.internal(f"Unable to expunge {described(instance)} due to {failed}")
        remove(call, instance)
        return {"success": True} if only_success else {OBJECT: dict(EXPUNGED)}

    asks = () if reason else (*stops, *deletes)
    return _work(instance, asks, finish, stamped=not expunge)


def _stopped(call: Call, instance: Instance) -> None:
    instance.state, instance.last_host, instance.host = (
        InstanceState.STOPPED,
        instance.host or instance.last_host,
        None,
    )
    instance.details[_FREED] = "false"
    for nic in instance.nics:
        nic.reserved = call.state.networks[nic.network].kind == _KEEPS_VLAN
    instance.updated = call.now


def _host(call: Call, instance: Instance) -> Host | None:
    return call.state.hosts.get(instance.host or "")


def _failure(reason: str | None, replies: tuple[Reply, ...]) -> str | None:
    """Why it failed: it was not asked, or it said no."""
    if reason is not None:
        return reason
    return next((each.output for each in replies if not each.success), None)


def _refused(
    instance: Instance, refusal: refusals.RefusalError, *, answer: Wire | None = None
) -> Work:
    """A job that fails without anything being asked."""

    def finish(_replies: tuple[Reply, ...]) -> Wire:
        raise refusal

    return _work(instance, (), finish, answer=answer)


def _work(
    instance: Instance,
    asks: tuple[Ask, ...],
    finish: Callable[[tuple[Reply, ...]], Wire],
    *,
    answer: Wire | None = None,
    stamped: bool = True,
) -> Work:
    return Work(
        finish=finish,
        kind=KIND,
        entity=instance.id,
        stamped=OBJECT if stamped else None,
        answer=answer or {},
        asks=asks,
    )


COMMANDS: Mapping[str, Handler] = MappingProxyType(
    {
        "startVirtualMachine": start,
        "stopVirtualMachine": stop,
        "rebootVirtualMachine": reboot,
        "destroyVirtualMachine": destroy,
        "expungeVirtualMachine": expunge,
        "recoverVirtualMachine": recover,
    }
)
