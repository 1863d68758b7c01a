"""Who an instance is, asked of CloudStack itself: most of a payload is a tenant's word.

Only an answer counts. An empty one is none: instances of projects and hidden ones are shown
only to who asks for them, and a key may see a part of the world.
"""

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Protocol

from cloudstack_ext.bought import Told
from cloudstack_ext.client import RefusalError
from provisioner.errors import ErrorCode, RackwrightError, TransientError
from provisioner.units import InstanceId

COMMANDS = ("listApis", "listVirtualMachines", "getVirtualMachineUserData", "listTemplates")
"""What the service's key must be allowed to call; it needs no more."""
BAD_PARAMETER = 431
"""What an id is answered with that never existed."""
SHOWN: tuple[Mapping[str, str], ...] = ({}, {"displayvm": "false"})
"""With displayvm=false an instance is shown to nobody who does not ask for such ones."""


EXECUTABLE = ("executable", "sharedexecutable")
"""What its owner may deploy from: its own and the public ones, and what was shared with it."""


class Calls(Protocol):
    """The one door to the API."""

    async def call(self, command: str, parameters: Mapping[str, str | int | bool]) -> Any:  # noqa: ANN401 JSON
        """One command's answer."""
        ...


class Truth(Protocol):
    """What is asked of one CloudStack.

    Raises TransientError TRUTH_SILENT where there is no answer, whatever the reason.
    """

    async def of(self, instance: InstanceId) -> Told:
        """Asked now."""
        ...

    async def user_data(self, instance: InstanceId) -> bytes | None:
        """As the tenant gave it; None where there is none."""
        ...

    async def templates_of(self, told: Told) -> frozenset[str]:
        """Ids of all templates that its owner may deploy from."""
        ...


class ApiTruth:
    """Truth by the API."""

    def __init__(self, client: Calls) -> None:
        self._client = client

    async def of(self, instance: InstanceId) -> Told:
        """Asked now."""
        for shown in SHOWN:
            asked = {"id": instance, "listall": "true", "projectid": "-1", **shown}
            answer = await self._ask("listVirtualMachines", asked)
            rows = answer.get("virtualmachine") if isinstance(answer, Mapping) else None
            if isinstance(rows, list) and len(rows) == 1:
                return _told(rows[0])
        raise TransientError(ErrorCode.TRUTH_SILENT, "CloudStack does not show this instance")

    async def user_data(self, instance: InstanceId) -> bytes | None:
        """As the tenant gave it; None where there is none."""
        asked = {"virtualmachineid": instance}
        answer = await self._ask("getVirtualMachineUserData", asked)
        try:
            coded = answer["virtualmachineuserdata"].get("userdata")
            return None if coded is None else base64.b64decode(coded, validate=True)
        except (KeyError, AttributeError, TypeError, binascii.Error) as error:
            raise _silent("getVirtualMachineUserData: the answer has another form") from error

    async def templates_of(self, told: Told) -> frozenset[str]:
        """Asked as the owner, without an id: with one an administrator's key is shown any."""
        if not told.asker:
            raise _silent("listVirtualMachines: an instance without an owner to ask for")
        found: set[str] = set()
        for each in EXECUTABLE:
            asked = {"templatefilter": each, "hypervisor": "External", **told.asker}
            answer = await self._ask("listTemplates", asked)
            rows = answer.get("template", []) if isinstance(answer, Mapping) else []
            found |= {str(row["id"]) for row in rows if isinstance(row, Mapping) and "id" in row}
        return frozenset(found)

    async def _ask(self, command: str, asked: Mapping[str, str]) -> Any:  # noqa: ANN401
        try:
            return await self._client.call(command, asked)
        except RefusalError as error:
            if error.status == BAD_PARAMETER:
                return {}
            raise _silent(error.brief) from error
        except RackwrightError as error:
            raise _silent(str(error)) from error


def owner_of(row: Mapping[str, Any]) -> str:
    """Of a row of listVirtualMachines: "ROOT/acme/alice", "ROOT/acme/project p1".

    Raises:
        KeyError: It has neither project nor account.
    """
    holder = f"project {row['project']}" if row.get("project") else str(row["account"])
    return f"{row.get('domainpath') or row['domain']}/{holder}"


def _told(row: Mapping[str, Any]) -> Told:
    try:
        return Told(
            owner=owner_of(row),
            offering=str(row["serviceofferingid"]),
            offering_name=str(row["serviceofferingname"]),
            template=str(row["templateid"]),
            template_name=str(row["templatename"]),
            state=str(row["state"]),
            is_protected=row.get("deleteprotection"),
            names=frozenset(str(row[key]) for key in ("name", "displayname") if row.get(key)),
            asker=_asker(row),
        )
    except KeyError as error:
        raise _silent(f"listVirtualMachines: an instance without {error}") from error


def _asker(row: Mapping[str, Any]) -> Mapping[str, str]:
    if row.get("projectid"):
        return {"projectid": str(row["projectid"])}
    if not (row.get("account") and row.get("domainid")):
        return {}
    return {"account": str(row["account"]), "domainid": str(row["domainid"])}


def _silent(why: str) -> TransientError:
    return TransientError(ErrorCode.TRUTH_SILENT, f"CloudStack was asked and gave no answer: {why}")
