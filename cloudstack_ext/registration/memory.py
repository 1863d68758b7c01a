"""What our database remembers of a registration, asked of the running service."""

import asyncio
from collections.abc import Mapping
from typing import Protocol

from cloudstack_ext.registration.model import Kind, Remembered
from provisioner.cli.session import Door, with_query
from provisioner.units import SiteName, WallSeconds


class Memory(Protocol):
    """Our own record of what we made; each method is one transaction."""

    async def rows(self) -> tuple[Remembered, ...]:
        """All of the site, retired ones too."""
        ...

    async def begin(self, kind: Kind, name: str, facts: Mapping[str, str]) -> int:
        """Note, before it is asked for, that it is being made; an older row is retired."""
        ...

    async def settle(
        self, number: int, outside_id: str, facts: Mapping[str, str], *, retired: bool = False
    ) -> None:
        """It is made, and this is its id; `retired`: for no new instance."""
        ...

    async def forget(self, number: int) -> None:
        """It is no more."""
        ...


class ServiceMemory:
    """Memory behind the service's listener for operators.

    Args:
        door: To the service.
        site: As the service's settings call this CloudStack.
    """

    def __init__(self, door: Door, site: SiteName) -> None:
        self._door, self._site = door, site

    async def database(self) -> str:
        """The id of the service's database, which is in every mark."""
        answer = await asyncio.to_thread(self._door.ask, "GET", self._list())
        return str(answer["database"])

    async def rows(self) -> tuple[Remembered, ...]:
        """All of the site, retired ones too; kinds of a newer release are passed over."""
        answer = await asyncio.to_thread(self._door.ask, "GET", self._list())
        known = {kind.value for kind in Kind}
        return tuple(
            Remembered(
                number=row["number"],
                kind=Kind(row["kind"]),
                name=row["name"],
                id=row["outside_id"],
                facts=row["facts"],
                retired=row["retired"],
                at=WallSeconds(row["at"]),
            )
            for row in answer["registered"]
            if row["kind"] in known
        )

    async def begin(self, kind: Kind, name: str, facts: Mapping[str, str]) -> int:
        """Note, before it is asked for, that it is being made; an older row is retired."""
        body = {"site": self._site, "kind": kind.value, "name": name, "facts": dict(facts)}
        answer = await asyncio.to_thread(self._door.ask, "POST", "/v1/registered", body)
        return int(answer["row"]["number"])

    async def settle(
        self, number: int, outside_id: str, facts: Mapping[str, str], *, retired: bool = False
    ) -> None:
        """It is made, and this is its id."""
        body = {"outside_id": outside_id, "facts": dict(facts), "retired": retired}
        await asyncio.to_thread(self._door.ask, "PUT", f"/v1/registered/{number}", body)

    async def forget(self, number: int) -> None:
        """It is no more."""
        await asyncio.to_thread(self._door.ask, "DELETE", f"/v1/registered/{number}")

    def _list(self) -> str:
        return with_query("/v1/registered", site=self._site)
