"""The extension contract as values. Pure: one verb's bytes to a Request, a Reply to one line.

Lenient on fields that nobody uses, strict on those that are, each problem with its path. The
site is bound to the caller's credential by the listener; the payload never says it.

Source: knowledge of a running management server 4.22, recorded in tests/data/payloads.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from cloudstack_ext.fields import Field
from cloudstack_ext.networks import UUID, read_networks
from cloudstack_ext.power_view import PowerState
from cloudstack_ext.registration.actions import ACTIONS, ActionName, RoleType
from cloudstack_ext.tenant_data import TenantData, read_keys, read_tenant_data
from provisioner.errors import ErrorCode, InputError, RackwrightError
from provisioner.servers.allocation import InstanceKey, InstanceRequest
from provisioner.units import HostLabel, InstanceId, PoolName, Seconds, SiteName

PAYLOAD_MOST = 4 * 1024 * 1024
TEXT_MOST = 4000
"""Characters of a reply's text; CloudStack blocks a child that writes 64 KiB."""
POOL = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
LINE_MOST = 32 * 1024
"""Bytes of a reply, its line end not counted: a longer one is not printed by the entry."""
WAIT = re.compile(r"[0-9]{1,9}")
DETAILS = "cloudstack.vm.details"


class Verb(StrEnum):
    """argv[1] as the management server sends it."""

    PREPARE = "prepare"
    CREATE = "create"
    START = "start"
    STOP = "stop"
    REBOOT = "reboot"
    DELETE = "delete"
    STATUS = "status"


STATUSES = "statuses"
"""Asked of a host, not of an instance."""
NOT_THERE = frozenset({"getconsole"})
INSTALLING = frozenset({Verb.PREPARE, Verb.CREATE})
WITH_KEYS = frozenset({ActionName.REINSTALL, ActionName.RESEED, ActionName.RESCUE})
"""Actions that hand the instance's SSH keys out anew."""
NETWORKED = INSTALLING | {Verb.START, Verb.REBOOT}
"""The others carry no NICs, but for the stop after a failed create, which needs none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One call."""

    verb: Verb
    instance: InstanceRequest

    @property
    def act(self) -> str:
        """As it stands in the audit."""
        return f"verb {self.verb}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionRequest:
    """One custom action; its instance is named, and of it only the keys of some are read.

    Attributes:
        state: CloudStack's, "Running" or "Stopped"; "" where the payload has none.
        by_admin: The caller's role type as claimed. Whom CloudStack lets run an action is
            decided there, by the roles that were registered.
        parameters: Those that the action declares, as far as they are given.
    """

    name: ActionName
    instance: InstanceRequest
    state: str
    by_admin: bool
    parameters: Mapping[str, str]

    @property
    def act(self) -> str:
        """As it stands in the audit."""
        return f"action {self.name}"


@dataclass(frozen=True, slots=True)
class Reply:
    """What goes back.

    Attributes:
        line: One JSON object, ASCII, without its line end; far below 32 KiB.
        exit: What the entry ends with: 0, or 1.
    """

    line: str
    exit: int = 0


def parse(verb: str, payload: bytes, site: SiteName) -> Request:
    """Read one call of a verb, where there are no custom actions.

    Args:
        verb: argv[1]: one of ours, a custom action's name, or a Java class name.
        payload: The file's bytes.
        site: From the credential of the caller.

    Raises:
        InputError: With one of the codes PAYLOAD_*, VERB_*, CUSTOM_ACTION_REFUSED, USER_DATA_*.
    """
    call = parse_call(verb, payload, site)
    if isinstance(call, ActionRequest):
        raise InputError(ErrorCode.CUSTOM_ACTION_REFUSED, "there are no custom actions")
    return call


def parse_call(verb: str, payload: bytes, site: SiteName) -> Request | ActionRequest:
    """Read one call, as `parse`; a custom action is one by the payload's key alone.

    Its name stands in argv[1] too, but may be any verb's.
    """
    if "." in verb:
        raise InputError(ErrorCode.VERB_UNKNOWN, "a Java class name is no verb")
    body = Field(_object(payload))
    if body.has("action"):
        return _action(body, site)
    if verb in NOT_THERE:
        raise InputError(ErrorCode.VERB_NOT_THERE, f"{verb} is not there yet")
    if verb not in set(Verb):
        raise InputError(ErrorCode.VERB_UNKNOWN, "no such verb")
    return Request(verb=Verb(verb), instance=_instance(Verb(verb), body, site))


def parse_statuses(payload: bytes) -> HostLabel:
    """Read a call of `statuses`: of which host.

    Source: CloudStack's change 11619 and an extension that answers it; 4.22.0 does not ask.

    Raises:
        InputError: With one of the codes PAYLOAD_*.
    """
    body = Field(_object(payload))
    if body.has("action"):
        raise InputError(ErrorCode.CUSTOM_ACTION_REFUSED, "no action is called like a verb")
    host = body["externaldetails"]["host"]["host"]
    return HostLabel(host.must(host.text() or None, "the host's own label"))


def parse_wait(text: str) -> Seconds:
    """Read argv[3]: after so many seconds the management server kills the entry.

    Raises:
        InputError: USAGE.
    """
    if not WAIT.fullmatch(text) or not int(text):
        raise InputError(ErrorCode.USAGE, "wait: wanted whole seconds, at least 1")
    return Seconds(float(text))


def done(text: str) -> Reply:
    """A success that CloudStack does not look into."""
    return Reply(_line({"status": "success", "message": text[:TEXT_MOST]}))


def power(state: PowerState) -> Reply:
    """What `status` says."""
    return Reply(_line({"status": "success", "power_state": state.value}))


def shown(rows: Sequence[Mapping[str, str]]) -> Reply:
    """What an action found, as CloudStack's UI shows it: a table, and nothing else is.

    Args:
        rows: At least one, all with the same keys.

    Raises:
        InputError: PAYLOAD_TOO_LARGE.
    """
    assert rows
    assert all(row.keys() == rows[0].keys() for row in rows)
    message = [dict(row) for row in rows]
    line = _line({"status": "success", "printmessage": "true", "message": message})
    if len(line) >= LINE_MOST:
        text = f"an answer of {len(line)} bytes does not fit into one line: ask your operator"
        raise InputError(ErrorCode.PAYLOAD_TOO_LARGE, text)
    return Reply(line)


def powers(states: Mapping[str, PowerState]) -> Reply:
    """What `statuses` says: the host's whole report, by instance name.

    Raises:
        InputError: PAYLOAD_TOO_LARGE: cut, it would stop instances.
    """
    words = {name: state.value.lower() for name, state in states.items()}
    line = _line({"status": "success", "power_state": words})
    if len(line) >= LINE_MOST:
        text = f"{len(states)} instances do not fit into one answer: make two hosts of this one"
        raise InputError(ErrorCode.PAYLOAD_TOO_LARGE, text)
    return Reply(line)


def prepared(macs: Mapping[str, str]) -> Reply:
    """Addresses of a server's own cards; by nicUuid alone.

    With `uuid`, which is the network's, two NICs in one network would become one.
    """
    nics = [{"nicUuid": nic, "mac": mac} for nic, mac in macs.items()]
    return Reply(_line({"nics": nics}))


def failed(error: RackwrightError) -> Reply:
    """An error's code and brief; its detail stays with the operators."""
    return Reply(_line({"status": "error", "error": str(error)[:TEXT_MOST]}), 1)


def _object(payload: bytes) -> dict[str, Any]:
    if len(payload) > PAYLOAD_MOST:
        text = f"the payload has more than {PAYLOAD_MOST} bytes"
        raise InputError(ErrorCode.PAYLOAD_TOO_LARGE, text)
    if not payload.strip():
        raise InputError(ErrorCode.PAYLOAD_EMPTY, "the payload is empty")
    try:
        body = json.loads(payload.decode("utf-8"))
    except RecursionError as error:
        text = "the payload is nested too deeply"
        raise InputError(ErrorCode.PAYLOAD_MALFORMED, text) from error
    except ValueError as error:  # no UTF-8, no JSON, a number of thousands of digits
        text = "the payload is not JSON in UTF-8"
        raise InputError(ErrorCode.PAYLOAD_MALFORMED, text, detail=str(error)) from error
    if not isinstance(body, dict):
        raise InputError(ErrorCode.PAYLOAD_NOT_AN_OBJECT, "the payload is not a JSON object")
    return body


def _action(body: Field, site: SiteName) -> ActionRequest:
    named = body["action"].value
    if not isinstance(named, str) or named not in set(ActionName):
        text = f"no such action; there are {', '.join(sorted(ActionName))}"
        raise InputError(ErrorCode.CUSTOM_ACTION_REFUSED, text)
    name = ActionName(named)
    instance = _instance(None, body, site)
    if name in WITH_KEYS:
        instance = replace(instance, ssh_keys=read_keys(body[DETAILS]))
    return ActionRequest(
        name=name,
        instance=instance,
        state=body[DETAILS]["state"].text() or "",
        by_admin=body["caller"]["roletype"].lines(most=255) == RoleType.ADMIN,
        parameters=_parameters(name, body["parameters"]),
    )


def _parameters(name: ActionName, given: Field) -> Mapping[str, str]:
    """All of them are texts; one that the action does not know was meant to do something."""
    declared = ACTIONS[name].parameters
    known = [each.name for each in declared]
    if given.value is not None and not isinstance(given.value, dict):
        given.refuse("an object")
    if given.value is not None and not given.value.keys() <= set(known):
        text = f"{given.path}: {name} takes {' and '.join(known) or 'none'}, and nothing else"
        raise InputError(ErrorCode.PAYLOAD_FIELD, text)
    found = {}
    for each in declared:
        value = given[each.name].text() or None
        if each.required:
            given[each.name].must(value, "a text")
        if value is not None:
            found[each.name] = value
    return found


def _instance(verb: Verb | None, body: Field, site: SiteName) -> InstanceRequest:
    uuid = body["virtualmachineid"]
    instance = uuid.must(uuid.matching(UUID, "a uuid"), "a uuid").lower()
    name = body["virtualmachinename"].text() or ""
    data = TenantData(hostname="", ssh_keys=(), user_data=None, password=None)
    if verb in INSTALLING:
        name = body["virtualmachinename"].must(name or None, "a name")
        data = read_tenant_data(body[DETAILS], name)
    return InstanceRequest(
        key=InstanceKey(site=site, instance=InstanceId(instance)),
        name=name,
        who=_who(body["caller"], site),
        pool=_pool(body["externaldetails"]) if verb in INSTALLING else None,
        host=_host(body["externaldetails"]) if verb in NETWORKED else None,
        image=_image(body["externaldetails"]) if verb in INSTALLING else None,
        networks=read_networks(body[DETAILS]["nics"]) if verb in NETWORKED else (),
        hostname=data.hostname or None,
        ssh_keys=data.ssh_keys,
        user_data=data.user_data,
        password=data.password,
    )


def _pool(external: Field) -> PoolName | None:
    """From what operators set alone: the host's details, else the resource map's."""
    for source in ("host", "resourcemap"):
        named = external[source]["pool"].matching(POOL, "a pool's name")
        if named is not None:
            return PoolName(named)
    return None


def _host(external: Field) -> HostLabel | None:
    """Registration gives each host its label as a detail, the same for all that it asks of us."""
    named = external["host"]["host"].text()
    return HostLabel(named) if named else None


def _image(external: Field) -> str | None:
    """A tenant can set it: it chooses among the pool's own images and nothing else."""
    return external["virtualmachine"]["image"].text() or None


def _who(caller: Field, site: SiteName) -> str:
    """The account that called, as claimed; most `status` calls name none."""
    name, role = caller["name"].lines(most=255), caller["rolename"].lines(most=255)
    claimed = f"{name or 'nobody named'} ({role or 'no role'})"
    return f"{site}: " + "".join(each if each.isprintable() else "?" for each in claimed)


def _line(body: Mapping[str, Any]) -> str:
    return json.dumps(body, separators=(",", ":"))
