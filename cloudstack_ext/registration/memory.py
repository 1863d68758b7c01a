"""What our database remembers of a registration, asked of the running service."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Final, Protocol
from urllib.parse import quote
from uuid import uuid4

from cloudstack_ext.registration.model import Kind, Remembered
from provisioner.cli.session import Door, with_query
from provisioner.errors import RackwrightError
from provisioner.units import Seconds, SiteName, WallSeconds

MOST_WORDS, MOST_LINE = 150, 255
HOLD_S: Final = Seconds(180.0)
"""More than looking at everything takes, and than any wait without a call."""


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

    async def hold(self, within: Seconds = HOLD_S) -> None:
        """Nobody else may change this registration for so long; asked before each change.

        Raises:
            RackwrightError: REGISTRATION_BUSY: somebody else does; says who, and since when.
        """
        ...


class ServiceMemory:
    """Memory behind the service's listener for operators.

    Args:
        door: To the service.
        site: As the service's settings call this CloudStack.
        where: This runs: another one who has to wait is told.
    """

    def __init__(self, door: Door, site: SiteName, where: str) -> None:
        self._door, self._site, self._where, self._what = door, site, where, where
        self._turn = f"/v1/sites/{quote(site, safe='')}/registration/{uuid4()}"

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

    async def hold(self, within: Seconds = HOLD_S) -> None:
        """Nobody else may change this registration for so long."""
        body = {"what": self._what, "seconds": within}
        await asyncio.to_thread(self._door.ask, "PUT", self._turn, body)

    @asynccontextmanager
    async def turn(self, what: str) -> AsyncIterator[None]:
        """Ours from here on, until the end of the block or, killed, of the last hold.

        Args:
            what: Is being done, in a few words for another one who has to wait.

        Raises:
            RackwrightError: As `hold`.
        """
        self._what = f"{what[:MOST_WORDS]}, {self._where}"[:MOST_LINE]
        await self.hold()
        try:
            yield
        finally:
            with suppress(RackwrightError):  # it ends by itself
                await asyncio.to_thread(self._door.ask, "DELETE", self._turn)

    def _list(self) -> str:
        return with_query("/v1/registered", site=self._site)
