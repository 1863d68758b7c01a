"""Steps that move the server's switch ports, each read back."""

from collections.abc import Mapping
from typing import Any

from provisioner.errors import (
    ErrorCode,
    InputError,
    OperatorError,
    RackwrightError,
    TransientError,
)
from provisioner.operations.doors import Work
from provisioner.operations.ownership import still_ours
from provisioner.operations.steps import Step
from provisioner.ports.network import SwitchPorts
from provisioner.servers.model import Placement, PortPlacement, ServerRecord
from provisioner.servers.quarantine_reason import NOT_CUT_OFF, POSSIBLY_RUNNING
from provisioner.store.waiting import stored
from provisioner.units import Seconds, Vlan

QUARANTINED = PortPlacement(placement=Placement.QUARANTINE)
PROVISIONED = PortPlacement(placement=Placement.PROVISIONING)
SHUT = PortPlacement(placement=Placement.SHUT)
CONNECTED = frozenset({Placement.PROVISIONING, Placement.TENANT})
SWITCH_AGAIN_S = Seconds(5.0)


def quarantine(server: ServerRecord) -> dict[str, PortPlacement]:
    """Every port of the server leads nowhere."""
    return {nic.port: QUARANTINED for nic in server.nics}


def provisioning(server: ServerRecord) -> dict[str, PortPlacement]:
    """The provisioning port leads to us, all others nowhere."""
    return quarantine(server) | {server.provisioning_nic().port: PROVISIONED}


def tenant(server: ServerRecord, vlans: tuple[Vlan, ...]) -> dict[str, PortPlacement]:
    """CloudStack's NIC n leads into its network from the n-th tenant port, all others nowhere.

    Raises:
        InputError: NETWORKS_TOO_MANY.
    """
    nics = server.tenant_nics()
    if len(vlans) > len(nics):
        raise InputError(
            ErrorCode.NETWORKS_TOO_MANY,
            f"{len(vlans)} networks are asked for, the server has {len(nics)} tenant ports",
        )
    return quarantine(server) | {
        nic.port: PortPlacement(placement=Placement.TENANT, vlans=(vlan,))
        for nic, vlan in zip(nics, vlans, strict=False)
    }


async def place(work: Work, wanted: Mapping[str, PortPlacement]) -> dict[str, Any]:
    """Move the ports and read each back; a port that cannot be seen is recorded as such."""
    return {
        port: await _place_one(work, port, placement) for port, placement in sorted(wanted.items())
    }


async def cut_off(work: Work, wanted: Mapping[str, PortPlacement]) -> dict[str, Any]:
    """As `place`; a port that cannot be moved keeps no other one where it is."""
    found, first = dict[str, Any](), None
    for port, placement in sorted(wanted.items()):
        try:
            found[port] = await _place_one(work, port, placement)
        except RackwrightError as error:
            first = first or error
    if first is not None:
        raise first
    return found


async def _place_one(work: Work, port: str, wanted: PortPlacement) -> str:
    """Again and again while its switch is away, as long as the step has time."""
    while True:
        try:
            return await _try_to_place(work, work.doors.ports, port, wanted)
        except TransientError:
            if work.doors.clock.monotonic() + SWITCH_AGAIN_S >= work.until:
                raise
        await work.doors.clock.sleep(SWITCH_AGAIN_S)


async def _try_to_place(work: Work, ports: SwitchPorts, port: str, wanted: PortPlacement) -> str:
    text = f"port {port} to {_words(wanted)}"
    if wanted.placement in CONNECTED:
        await still_ours(work)
    try:
        await ports.place(port, wanted)
        seen = await ports.read(port)
        if seen not in {wanted, PortPlacement(placement=Placement.UNKNOWN)}:
            raise OperatorError(
                ErrorCode.PORT_NOT_SET, f"port {port} leads to {_words(seen)}, not {_words(wanted)}"
            )
    except RackwrightError as error:
        await _journal(work, text, f"{error.code}: {error.brief}")
        raise
    await _journal(work, text, "ok")
    return _words(seen)


async def _journal(work: Work, text: str, outcome: str) -> None:
    await stored(work.doors.records.calls.call, work.server.name, "port", text, outcome)


def _words(placement: PortPlacement) -> str:
    vlans = " ".join(str(vlan) for vlan in placement.vlans)
    return f"{placement.placement} {vlans}".strip()


async def shut_all(work: Work) -> dict[str, Any]:
    """Cut the server off: what is left where its controller does not answer."""
    return await cut_off(work, {nic.port: SHUT for nic in work.server.nics})


async def _to_provisioning(work: Work) -> Mapping[str, Any]:
    return await place(work, provisioning(work.server))


async def _to_quarantine(work: Work) -> Mapping[str, Any]:
    return await cut_off(work, quarantine(work.server))


async def _at_rest(work: Work) -> Mapping[str, Any]:
    """Quarantine; but what was found running and was never ours stays as it was found (13)."""
    if work.server.found_on and work.server.baseline is None:
        return {"untouched": "found switched on, and never provided"}
    return await _to_quarantine(work)


async def _to_tenant(work: Work) -> Mapping[str, Any]:
    vlans = tuple(Vlan(int(vlan)) for vlan in work.operation.parameters["vlans"])
    return await place(work, tenant(work.server, vlans))


async def _to_nowhere(work: Work) -> Mapping[str, Any]:
    """Quarantine where the server is off, shut where nobody knows (invariant 5)."""
    found = work.found["off-or-unknown"]
    is_off = found.get("power") == "off"
    try:
        return await (_to_quarantine(work) if is_off else shut_all(work))
    except RackwrightError as error:
        if is_off:
            raise OperatorError(
                error.code, f"{NOT_CUT_OFF}: {error.brief}", error.detail
            ) from error
        text = f"{POSSIBLY_RUNNING}: {found['why']}; {NOT_CUT_OFF}: {error.brief}"
        raise OperatorError(ErrorCode.POSSIBLY_RUNNING, text, error.detail) from error


PORT_S = Seconds(120.0)
TO_PROVISIONING = Step(name="port-to-provisioning", act=_to_provisioning, limit=PORT_S)
TO_QUARANTINE = Step(name="port-to-quarantine", act=_to_quarantine, limit=PORT_S)
AT_REST = Step(name="port-at-rest", act=_at_rest, limit=PORT_S)
TO_TENANT = Step(name="port-to-tenant", act=_to_tenant, limit=PORT_S)
TO_NOWHERE = Step(name="port-to-nowhere", act=_to_nowhere, limit=PORT_S)
