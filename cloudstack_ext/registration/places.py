"""Where things are made: zone, pod, operating systems, domains, by name and without doubt. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cloudstack_ext.registration.wanted import Wanted

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Ids of what the file names and nobody makes.

    Attributes:
        systems: Operating systems' ids by their names; domains' by their paths.
        account: Of the key, as `Thing.owner` writes it.
    """

    zone: str
    pod: str
    account: str
    systems: Mapping[str, str] = field(default_factory=dict)
    domains: Mapping[str, str] = field(default_factory=dict)


def account_of(row: Row, name: str = "account") -> str:
    """An owner: account and domain, since two domains may have an account of one name."""
    account = row.get(name)
    return f"{account}@{row.get('domainid', '')}" if account else ""


def find_places(
    wanted: Wanted,
    *,
    zones: Sequence[Row],
    pods: Sequence[Row],
    systems: Sequence[Row],
    domains: Sequence[Row],
    account: str,
) -> tuple[Places | None, tuple[str, ...]]:
    """The ids, or every reason why they are not known."""
    problems: list[str] = []
    zone = _one("zone", wanted.zone, _named(zones, "name", wanted.zone), problems)
    in_zone = [row for row in pods if zone is None or row.get("zoneid") == zone.get("id")]
    pod = _one("pod", wanted.pod, _named(in_zone, "name", wanted.pod), problems)
    if zone is not None and zone.get("securitygroupsenabled"):
        problems.append(
            f"zone: {wanted.zone} has security groups; CloudStack refuses External clusters there"
        )
    system_ids = {
        name: row["id"]
        for name in sorted({image.os for image in wanted.images})
        for row in [_one("images.os", name, _named(systems, "description", name), problems)]
        if row is not None
    }
    domain_ids = {
        path: row["id"]
        for path in sorted({path for size in wanted.sizes for path in size.domains})
        for row in [_one("sizes.domains", path, _named(domains, "path", path), problems)]
        if row is not None
    }
    if not account:
        problems.append("the key's own account is not to be told: add the rule getUser")
    if problems or zone is None or pod is None:
        return None, tuple(problems)
    places = Places(
        zone=zone["id"], pod=pod["id"], account=account, systems=system_ids, domains=domain_ids
    )
    return places, ()


def _named(rows: Iterable[Row], key: str, name: str) -> list[Row]:
    return [row for row in rows if row.get(key) == name]


def _one(path: str, name: str, rows: list[Row], problems: list[str]) -> Row | None:
    if len(rows) == 1:
        return rows[0]
    many = f"{len(rows)} are called {name}" if rows else f"there is no {name}"
    problems.append(f"{path}: {many} in CloudStack")
    return None
