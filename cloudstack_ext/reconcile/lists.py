"""The lists of one CloudStack, whole or not at all."""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from cloudstack_ext.reconcile.views import CloudInstance, Union
from cloudstack_ext.registration.model import Kind
from cloudstack_ext.truth import owner_of
from provisioner.errors import ErrorCode, OperatorError
from provisioner.ports.clock import Clock
from provisioner.ports.registered import RegisteredRow
from provisioner.units import InstanceId

COMMANDS = ("listApis", "listExtensions", "listHosts", "listVirtualMachines")
"""What the service's key needs besides what truth.py needs."""
HYPERVISOR = "External"


class Lists(Protocol):
    """The one door to the API."""

    async def every(
        self, command: str, of: str, parameters: Mapping[str, str | int | bool]
    ) -> tuple[Mapping[str, Any], ...]:
        """All rows of a list, or an error."""
        ...


async def read_union(api: Lists, rows: Iterable[RegisteredRow], clock: Clock) -> Union:
    """Ask for all of it, anew.

    Args:
        api: Of the site.
        rows: What is registered there.
        clock: For the moment.

    Raises:
        OperatorError: REGISTRATION_ROW: nothing is registered, so nothing can be told apart.
        RackwrightError: As the door raises; a part of a list is never taken for all of it.
    """
    at = clock.monotonic()
    living = [row for row in rows if not row.retired and row.outside_id]
    extensions = {row.outside_id for row in living if row.kind == Kind.EXTENSION.value}
    if not extensions:
        text = "no extension is registered at this site: `rackwright cloudstack apply`"
        raise OperatorError(ErrorCode.REGISTRATION_ROW, text)
    seen = {str(row.get("id")) for row in await api.every("listExtensions", "extension", {})}
    hosts = await api.every("listHosts", "host", {"hypervisor": HYPERVISOR})
    ours = {row.outside_id for row in living if row.kind == Kind.HOST.value}
    instances: dict[InstanceId, CloudInstance] = {}
    for extension in sorted(str(each) for each in extensions):
        for shown in ({}, {"displayvm": "false"}):
            asked = {"listall": "true", "projectid": "-1", "extensionid": extension, **shown}
            found = await api.every("listVirtualMachines", "virtualmachine", asked)
            instances |= {InstanceId(str(row["id"])): _instance(row) for row in found}
    return Union(
        at=at,
        instances=instances,
        hosts=frozenset(str(row.get("name")) for row in hosts),
        sees_ours=extensions <= seen and ours <= {str(row.get("id")) for row in hosts},
    )


def _instance(row: Mapping[str, Any]) -> CloudInstance:
    try:
        return CloudInstance(
            instance=InstanceId(str(row["id"])),
            name=str(row["instancename"]),
            owner=owner_of(row),
            offering=str(row["serviceofferingid"]),
            state=str(row["state"]),
            host=str(row.get("hostname") or ""),
            is_protected=row.get("deleteprotection"),
        )
    except KeyError as error:
        text = f"listVirtualMachines: an instance without {error}"
        raise OperatorError(ErrorCode.CLOUDSTACK_NONSENSE, text) from error
