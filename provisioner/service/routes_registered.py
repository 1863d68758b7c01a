"""Routes of what sites hold for us: asked and told by whoever registers there."""

from dataclasses import dataclass
from typing import Annotated

from provisioner.config import Role
from provisioner.errors import ErrorCode, InputError
from provisioner.operations.desk_registered import RegisteredDesk
from provisioner.ports.registered import RegisteredRow
from provisioner.service.routes import Asking, Parameter, Route
from provisioner.strict import matching
from provisioner.units import SiteName

Word = Annotated[str, matching(r"[a-z][a-z-]{0,31}", "a kind ([a-z][a-z-]{0,31})")]
Line = Annotated[str, matching(r"[^\x00-\x1f\x7f]{1,255}", "one line of 1 to 255 characters")]
Fact = Annotated[str, matching(r"[^\x00-\x1f\x7f]{0,255}", "one line of at most 255 characters")]
Site = Annotated[str, matching(r"[a-z0-9][a-z0-9-]{0,62}", "a site's name")]


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginRegistered:
    """An object that is about to be made."""

    site: Site
    kind: Word
    name: Line
    facts: dict[Word, Fact]


@dataclass(frozen=True, slots=True, kw_only=True)
class SettleRegistered:
    """An object that is there.

    Attributes:
        retired: For no new user.
    """

    outside_id: Line
    facts: dict[Word, Fact]
    retired: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredList:
    """All rows of a site, oldest first.

    Attributes:
        database: The id that stands in our marks.
    """

    database: str
    registered: tuple[RegisteredRow, ...]
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredAnswer:
    """One row."""

    row: RegisteredRow
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """It is no more."""

    number: int
    version: int = 1


def registered_routes(desk: RegisteredDesk) -> tuple[Route, ...]:
    """The table."""

    async def rows(asking: Asking) -> RegisteredList:
        found = await desk.registered(SiteName(asking.query.get("site", "")))
        return RegisteredList(database=await desk.database_id(), registered=found)

    async def begin(asking: Asking) -> RegisteredAnswer:
        told: BeginRegistered = asking.body
        row = await desk.begin_registered(
            SiteName(told.site), told.kind, told.name, told.facts, asking.operator
        )
        return RegisteredAnswer(row=row)

    async def settle(asking: Asking) -> RegisteredAnswer:
        told: SettleRegistered = asking.body
        row = await desk.settle_registered(
            _number(asking), told.outside_id, told.facts, asking.operator, retired=told.retired
        )
        return RegisteredAnswer(row=row)

    async def forget(asking: Asking) -> Forgotten:
        number = _number(asking)
        await desk.forget_registered(number, asking.operator)
        return Forgotten(number=number)

    of_site = {"site": Parameter(kind=str, text="As the settings call it.")}
    path, one = "/v1/registered", "/v1/registered/{number}"
    look = Route(
        method="GET",
        path=path,
        role=Role.VIEWER,
        answer=rows,
        summary="What a site holds for us.",
        gives=RegisteredList,
        query=of_site,
    )
    changes = (
        ("POST", path, begin, "It is about to be made.", RegisteredAnswer, BeginRegistered),
        ("PUT", one, settle, "It is there, under this id.", RegisteredAnswer, SettleRegistered),
        ("DELETE", one, forget, "It is no more.", Forgotten, None),
    )  # fmt: skip
    return (
        look,
        *(
            Route(
                method=method,
                path=where,
                role=Role.ADMIN,
                answer=answer,
                summary=summary,
                gives=gives,
                takes=takes,
            )
            for method, where, answer, summary, gives, takes in changes
        ),
    )


def _number(asking: Asking) -> int:
    text = asking.path["number"]
    if not text.isascii() or not text.isdigit() or len(text) > 15:  # noqa: PLR2004 fits any database
        raise InputError(ErrorCode.REGISTRATION_ROW, f"{text[:40]!r} is no number of a row")
    return int(text)
