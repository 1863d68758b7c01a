"""Service offerings."""

from collections.abc import Mapping
from types import MappingProxyType

from cloudstack_ext.api_server import refusals
from cloudstack_ext.api_server.call import Call, Handler
from cloudstack_ext.api_server.model.accounts import RoleType
from cloudstack_ext.api_server.model.catalogue import Offering, OfferingState
from cloudstack_ext.api_server.state import new_id
from cloudstack_ext.api_server.wire import (
    Wire,
    external,
    given,
    has_keyword,
    listing,
    matches,
    stamp,
)

_MOST = 2147483647
_LEAST_MEMORY_MIB = 32


def living_offerings(call: Call) -> dict[str, Offering]:
    """By id, without those that were deleted."""
    return {each.id: each for each in call.state.offerings.values() if not each.removed}


def create(call: Call) -> Wire:
    """createServiceOffering: the same name twice is no matter."""
    values, name = call.values, call.values.needed("name")
    if values.text("vgpuprofileid") is not None:
        if (values.number("gpucount") or 0) < 1 and values.text("gpucount"):
            raise refusals.invalid("GPU count must be greater than 0.")
        call.found("vgpuprofileid", dict[str, object]())
    offering = Offering(
        id=new_id(),
        name=name,
        display_text=values.text("displaytext") or name,
        cpus=_within(call, "cpunumber", "cpu number", 1),
        cpu_mhz=_within(call, "cpuspeed", "cpu speed", 0),
        memory_mib=_within(call, "memory", "memory", _LEAST_MEMORY_MIB),
        created=call.now,
        disk_offering=new_id(),
        tags=values.text("hosttags") or None,
        ha=bool(values.flag("offerha")),
        limit_cpu=bool(values.flag("limitcpuuse")),
        gpus=values.number("gpucount"),
        details={
            **(values.map("serviceofferingdetails") or {}),
            **external(values.map("externaldetails") or {}),
        },
        domains=_ids(call, "domainid", call.state.domains) or (),
        zones=_ids(call, "zoneid", call.state.zones) or (),
    )
    call.state.offerings[offering.id] = offering
    return {"serviceoffering": _view(call, offering)}


def list_(call: Call) -> Wire:
    """listServiceOfferings: Active ones unless `state` asks for others."""
    call.found_if_given("id", living_offerings(call))
    rows = [_view(call, each) for each in living_offerings(call).values() if _is_wanted(call, each)]
    return listing("serviceoffering", rows, call.values)


def update(call: Call) -> Wire:
    """updateServiceOffering: what was bought by it (CPUs, memory, GPUs) cannot be changed."""
    offering = call.found("id", living_offerings(call))
    values = call.values
    offering.name = values.text("name") or offering.name
    offering.display_text = values.text("displaytext") or offering.display_text
    offering.state = call.choice("state", OfferingState) or offering.state
    tags = values.text("hosttags")
    offering.tags = offering.tags if tags is None else tags or None
    details = values.map("externaldetails")
    if values.flag("cleanupexternaldetails"):
        offering.details = {}
    elif details is not None:
        offering.details = external(details)
    domains = _ids(call, "domainid", call.state.domains)
    offering.domains = offering.domains if domains is None else domains
    zones = _ids(call, "zoneid", call.state.zones)
    offering.zones = offering.zones if zones is None else zones
    return {"serviceoffering": _view(call, offering)}


def delete(call: Call) -> Wire:
    """deleteServiceOffering: also while instances run with it."""
    call.found("id", living_offerings(call)).removed = True
    return {"success": True}


def _within(call: Call, parameter: str, name: str, least: int) -> int:
    number = call.values.number(parameter)
    if number is None or not least <= number <= _MOST:
        offering = call.values.needed("name")
        raise refusals.invalid(
            f"Failed to create service offering {offering}: specify the {name} value between"
            f" {least} and {_MOST}"
        )
    return number


def _ids(call: Call, name: str, table: Mapping[str, object]) -> tuple[str, ...] | None:
    """A list of ids; "all" and "public" are none in particular."""
    words = call.values.words(name)
    if words is None:
        return None
    named = tuple(each for each in words if each not in {"all", "public"})
    for each in named:
        call.id_in(name, each, table)
    return named


def _is_wanted(call: Call, offering: Offering) -> bool:
    state = call.choice("state", OfferingState) or OfferingState.ACTIVE
    zone = call.values.text("zoneid")
    texts = {
        "id": offering.id,
        "name": offering.name,
        "cpunumber": str(offering.cpus),
        "cpuspeed": str(offering.cpu_mhz),
        "memory": str(offering.memory_mib),
    }
    return (
        matches(call.values, texts)
        and has_keyword(call.values, offering.name, offering.display_text)
        and offering.state is state
        and (zone is None or not offering.zones or zone in offering.zones)
        and _may_buy(call, offering)
    )


def _may_buy(call: Call, offering: Offering) -> bool:
    if not offering.domains or call.state.role_of(call.caller).type is RoleType.ADMIN:
        return True
    own = call.state.domains[call.state.accounts[call.caller.account].domain].path
    paths = [call.state.domains[each].path for each in offering.domains]
    return any(own == path or own.startswith(f"{path}/") for path in paths)


def _view(call: Call, offering: Offering) -> Wire:
    domains = [call.state.domains[each] for each in offering.domains]
    zones = [call.state.zones[each] for each in offering.zones]
    return given(
        id=offering.id,
        name=offering.name,
        state=offering.state.value,
        displaytext=offering.display_text,
        cpunumber=offering.cpus,
        cpuspeed=offering.cpu_mhz,
        memory=offering.memory_mib,
        created=stamp(offering.created),
        storagetype="shared",
        provisioningtype="thin",
        offerha=offering.ha,
        limitcpuuse=offering.limit_cpu,
        isvolatile=False,
        hosttags=offering.tags,
        domainid=",".join(each.id for each in domains) or None,
        domain=",".join(each.path for each in domains) or None,
        zoneid=",".join(each.id for each in zones) or None,
        zone=",".join(each.name for each in zones) or None,
        issystem=False,
        defaultuse=False,
        serviceofferingdetails=dict(offering.details) or None,
        iscustomized=False,
        rootdisksize=0,
        dynamicscalingenabled=True,
        diskofferingstrictness=False,
        diskofferingid=offering.disk_offering,
        diskofferingname=offering.name,
        diskofferingdisplaytext=offering.display_text,
        encryptroot=False,
        gpucount=offering.gpus,
        gpudisplay=False,
        hasannotations=False,
    )


COMMANDS: Mapping[str, Handler] = MappingProxyType(
    {
        "createServiceOffering": create,
        "listServiceOfferings": list_,
        "updateServiceOffering": update,
        "deleteServiceOffering": delete,
    }
)
