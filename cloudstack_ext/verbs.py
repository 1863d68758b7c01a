"""One function a verb: what was asked to what is done, over the port `Machines`.

Each answers before its deadline, which lies before the one at which the management server
kills the entry and forgets the output.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from cloudstack_ext.actions.asked import Asked
from cloudstack_ext.actions.table import ANSWER_WITHIN as ACTION_ANSWER_WITHIN
from cloudstack_ext.actions.table import act
from cloudstack_ext.contract import (
    STATUSES,
    ActionRequest,
    Reply,
    Request,
    Verb,
    done,
    failed,
    parse_call,
    parse_statuses,
    parse_wait,
    power,
    powers,
    prepared,
)
from cloudstack_ext.power_view import PowerState, row_of
from provisioner.about import learned
from provisioner.errors import ErrorCode, InputError, RackwrightError, TransientError
from provisioner.ports.clock import Clock
from provisioner.ports.controllers import PowerAct
from provisioner.ports.instance_changes import InstanceChanges
from provisioner.ports.machines import Machines
from provisioner.ports.tenant_desk import TenantDesk
from provisioner.servers.allocation import InstanceKey, InstanceRequest, Protection
from provisioner.units import MonotonicSeconds, Seconds, SiteName

log = logging.getLogger(__name__)

SHARE_OF_WAIT = 0.8
CREATE_ANSWER_WITHIN = Seconds(1440.0)
DELETE_ANSWER_WITHIN = Seconds(10.0)
"""CloudStack's expunge thread goes through all instances one by one."""

ACTION_NOTE_S = 0.5
NOTING: set[asyncio.Future[None]] = set()
"""Lines that are still being written; the loop alone would forget them."""

Note = Callable[[Request | ActionRequest, str], Awaitable[None]]
"""Writes down who asked for what, and "ok" or the code of the refusal."""


class Cloud(Protocol):
    """What CloudStack itself may be asked about an instance."""

    async def certified(
        self, request: InstanceRequest, size: str | None, until: MonotonicSeconds
    ) -> InstanceRequest:
        """ports.machines.Certify, told by when."""
        ...

    async def anew(
        self, request: InstanceRequest, size: str, image: str | None, until: MonotonicSeconds
    ) -> InstanceRequest:
        """As it may be written anew, asked once; image: a registered template's name or id."""
        ...

    async def protection(self, key: InstanceKey) -> Protection:
        """Whether somebody keeps it from being deleted by mistake; within two seconds."""
        ...

    async def names(self, key: InstanceKey) -> frozenset[str]:
        """What its owner calls it, for actions that are confirmed by it; within two seconds."""
        ...


class NobodyAsked:
    """A CloudStack whose API we have no key to."""

    async def certified(
        self, request: InstanceRequest, _size: str | None, _until: MonotonicSeconds
    ) -> InstanceRequest:
        """As it is."""
        return request

    async def anew(
        self, request: InstanceRequest, _size: str, image: str | None, _until: MonotonicSeconds
    ) -> InstanceRequest:
        """As it is, with the image that it has."""
        return without_key(request, image)

    async def protection(self, _key: InstanceKey) -> Protection:
        """Nobody has asked."""
        return Protection.NOT_ASKED

    async def names(self, _key: InstanceKey) -> frozenset[str]:
        """None is known."""
        return frozenset()


def without_key(request: InstanceRequest, image: str | None) -> InstanceRequest:
    """A request that nobody can certify, as far as it needs nobody's word.

    Raises:
        InputError: SITE_KEY_MISSING: whether its owner may use another image, CloudStack says.
    """
    if image is not None:
        text = "another image needs CloudStack's word, and the service has no key of this site"
        raise InputError(ErrorCode.SITE_KEY_MISSING, text)
    return request


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One verb for one instance.

    Attributes:
        until: When it must be answered.
    """

    instance: InstanceRequest
    machines: Machines
    until: MonotonicSeconds
    cloud: Cloud

    async def certify(self, request: InstanceRequest, size: str | None) -> InstanceRequest:
        """ports.machines.Certify."""
        return await self.cloud.certified(request, size, self.until)


Act = Callable[[Call], Awaitable[Reply]]


async def prepare(call: Call) -> Reply:
    """Keep a server and name the addresses of its cards."""
    kept = await call.machines.reserve(call.instance)
    return prepared(kept.macs)


async def create(call: Call) -> Reply:
    """Install and start; CloudStack sends it for an installed instance too."""
    deploy = call.machines.deploy(call.instance, until=call.until, certify=call.certify)
    return done((await deploy).text)


async def start(call: Call) -> Reply:
    """Power on what is installed."""
    return await _power(call, PowerAct.ON)


async def stop(call: Call) -> Reply:
    """Off, gracefully first; CloudStack sends it after each failed create too."""
    return await _power(call, PowerAct.OFF)


async def reboot(call: Call) -> Reply:
    """Off and on."""
    return await _power(call, PowerAct.CYCLE)


async def _power(call: Call, act: PowerAct) -> Reply:
    power = call.machines.power(call.instance, act, until=call.until, certify=call.certify)
    return done((await power).text)


async def delete(call: Call) -> Reply:
    """Give the server back; the wipe goes on after the answer."""
    key, who = call.instance.key, call.instance.who
    protection = await call.cloud.protection(key)
    release = call.machines.release(key, who, until=call.until, protection=protection)
    return done((await release).text)


async def status(call: Call) -> Reply:
    """What is remembered of its power; a busy database is no failure but unknown."""
    try:
        row = row_of(await call.machines.observe(call.instance.key))
    except TransientError:
        return power(PowerState.UNKNOWN)
    if row.alarm:
        log.warning("%s", row.situation)
    return power(row.says)


async def statuses(payload: bytes, site: SiteName, machines: Machines) -> Reply:
    """Every instance of a host at once; whoever is missing would be taken for stopped."""
    views = await machines.observe_host(site, parse_statuses(payload))
    found = {name: row_of(view) for name, view in views.items()}
    for name, row in found.items():
        if row.alarm:
            log.warning("%s: %s", name, row.situation)
    return powers({name: row.says for name, row in found.items()})


ACTS: Mapping[Verb, Act] = MappingProxyType(
    {
        Verb.PREPARE: prepare,
        Verb.CREATE: create,
        Verb.START: start,
        Verb.STOP: stop,
        Verb.REBOOT: reboot,
        Verb.DELETE: delete,
        Verb.STATUS: status,
    }
)


async def answer(
    verb: str,
    payload: bytes,
    wait: str,
    *,
    site: SiteName,
    machines: Machines,
    clock: Clock,
    note: Note | None = None,
    create_within: Seconds = CREATE_ANSWER_WITHIN,
    cloud: Cloud | None = None,
    desk: TenantDesk | None = None,
    changes: InstanceChanges | None = None,
) -> Reply:
    """Answer one call of the entry; every RackwrightError is a reply.

    Args:
        verb: argv[1], decoded.
        payload: The body as it came.
        wait: argv[3] as it came.
        site: Bound to the caller's credential.
        machines: Does it.
        clock: For the deadline.
        note: For the audit; not told of `status`, which is asked all the time. None: nobody.
        create_within: The setting create_answer_within_s.
        cloud: Asked about the instance; None: nobody is.
        desk: Asked by custom actions; None: these machines have none.
        changes: Likewise, by those that write a disk or boot a rescue system.
    """
    began, cloud = clock.monotonic(), cloud or NobodyAsked()
    try:
        within = parse_wait(wait) * SHARE_OF_WAIT
        if verb == STATUSES:
            return await statuses(payload, site, machines)
        request = parse_call(verb, payload, site)
    except RackwrightError as error:
        learned(code=error.code)
        return failed(error)
    learned(instance=request.instance.key.instance)
    until = MonotonicSeconds(began + min(within, _limit(request, within, create_within)))
    try:
        if isinstance(request, ActionRequest):
            reply = await _action(request, desk, changes, cloud, until)
        else:
            call = Call(instance=request.instance, machines=machines, until=until, cloud=cloud)
            reply = await ACTS[request.verb](call)
        outcome = "ok"
    except RackwrightError as error:
        learned(code=error.code)
        reply, outcome = failed(error), str(error.code)
    if note is not None and not (isinstance(request, Request) and request.verb is Verb.STATUS):
        await _noted(note, request, outcome)
    return reply


async def _noted(note: Note, request: Request | ActionRequest, outcome: str) -> None:
    """An action's answer has eight seconds; its line in the audit may come behind it."""
    noting = asyncio.ensure_future(note(request, outcome))
    NOTING.add(noting)
    noting.add_done_callback(NOTING.discard)
    within = ACTION_NOTE_S if isinstance(request, ActionRequest) else None
    ended, _ = await asyncio.wait({noting}, timeout=within)
    for each in ended:
        each.result()  # a defect of ours is not swallowed


def _limit(request: Request | ActionRequest, within: float, create_within: Seconds) -> float:
    """What a call gets at most, however long CloudStack would wait."""
    if isinstance(request, ActionRequest):
        return ACTION_ANSWER_WITHIN
    limits = {Verb.CREATE: create_within, Verb.DELETE: DELETE_ANSWER_WITHIN}
    return limits.get(request.verb, within)


async def _action(
    request: ActionRequest,
    desk: TenantDesk | None,
    changes: InstanceChanges | None,
    cloud: Cloud,
    until: MonotonicSeconds,
) -> Reply:
    if desk is None:
        raise InputError(ErrorCode.CUSTOM_ACTION_REFUSED, "these machines have no custom actions")
    asked = Asked(
        request=request,
        desk=desk,
        changes=changes,
        names=cloud.names,
        anew=cloud.anew,
        until=until,
    )
    return await act(asked)
