"""What was bought, by what CloudStack says and what was registered. Pure.

Templates and offerings are known by their ids alone: names are accepted twice, and details are
copied by tenants (invariant 11).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from cloudstack_ext.registration.model import Kind
from provisioner.errors import ConflictError, ErrorCode, InputError
from provisioner.ports.registered import RegisteredRow

TEMPLATES = frozenset({Kind.TEMPLATE.value, Kind.FOREIGN_TEMPLATE.value})


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What CloudStack says of one instance.

    Attributes:
        owner: "ROOT/acme/alice", or "ROOT/acme/project p"; an account's name is its domain's.
        offering: Its id; the names are for people.
        template: Its id.
        state: "Running", "Starting", ...
        is_protected: Whether it may be deleted; None where this CloudStack does not say.
        names: What its owner calls it.
        asker: Parameters that name its owner in another question: account and domain, or project.
    """

    owner: str
    offering: str
    offering_name: str
    template: str
    template_name: str
    state: str
    is_protected: bool | None = None
    names: frozenset[str] = frozenset()
    asker: Mapping[str, str] = field(default_factory=dict)

    def in_words(self) -> str:
        """For the record."""
        return (
            f"owner {self.owner}, offering {self.offering_name} ({self.offering}), "
            f"template {self.template_name} ({self.template})"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Bought:
    """What a first installation is made of.

    Attributes:
        size: The offering's registered name; one that was made anew keeps it.
        image: Key in the pool's map.
    """

    size: str
    image: str


def bought(
    told: Told, rows: Iterable[RegisteredRow], *, pool: str | None, image: str | None
) -> Bought:
    """Held against the registration.

    Args:
        told: By CloudStack.
        rows: All that is registered at this site; what is retired may still be lived on.
        pool: Of the host, as the payload says it.
        image: As the payload names it, which a tenant may have set; None: it names none.

    Raises:
        InputError: OFFERING_FOREIGN, TEMPLATE_FOREIGN, POOL_DIFFERS, IMAGE_DIFFERS.
    """
    known = {(row.kind, row.outside_id): row for row in rows if row.outside_id}
    offering = known.get((Kind.OFFERING.value, told.offering))
    if offering is None:
        text = f"offering {told.offering_name} ({told.offering}) is not registered here"
        raise InputError(ErrorCode.OFFERING_FOREIGN, text)
    if offering.facts.get("pool") != pool:
        text = (
            f"offering {offering.name} is of pool {offering.facts.get('pool')}, its host of {pool}"
        )
        raise InputError(ErrorCode.POOL_DIFFERS, text)
    template = next(
        (known[kind, told.template] for kind in TEMPLATES if (kind, told.template) in known), None
    )
    if template is None:
        text = f"template {told.template_name} ({told.template}) is not registered here"
        raise InputError(ErrorCode.TEMPLATE_FOREIGN, text)
    registered = template.facts["image"]
    if image not in {None, registered}:
        text = f"image {image} was asked for; template {told.template_name} has {registered}"
        raise InputError(ErrorCode.IMAGE_DIFFERS, text)
    return Bought(size=offering.name, image=registered)


def offered(rows: Iterable[RegisteredRow], *, asked: str) -> tuple[RegisteredRow, ...]:
    """Registered templates that this may mean, by name or id; one that was retired is none."""
    return tuple(
        row
        for row in rows
        if row.kind in TEMPLATES
        and row.outside_id
        and not row.retired
        and asked in {row.name, row.outside_id}
    )


def same_size(told: Told, rows: Iterable[RegisteredRow], *, size: str) -> None:
    """A changed offering gives no other server: it is refused before anything is switched on.

    Args:
        told: By CloudStack, now.
        rows: As `bought`.
        size: As it was bought; "" was never asked, and anything is the same.

    Raises:
        ConflictError: OFFERING_DIFFERS.
    """
    now = next(
        (
            row.name
            for row in rows
            if row.kind == Kind.OFFERING.value and row.outside_id == told.offering
        ),
        f"{told.offering_name} (not registered)",
    )
    if size not in {"", now}:
        text = f"it was bought as {size}, and is {now} now: change the offering back"
        raise ConflictError(ErrorCode.OFFERING_DIFFERS, text)
