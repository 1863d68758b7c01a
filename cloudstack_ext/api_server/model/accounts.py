"""Who calls: domains, roles, accounts, users with their keys, projects."""

from dataclasses import dataclass, field
from enum import StrEnum

from provisioner.secret import Secret


class RoleType(StrEnum):
    """As `roletype` has them; a role's own rules say more."""

    ADMIN = "Admin"
    RESOURCE_ADMIN = "ResourceAdmin"
    DOMAIN_ADMIN = "DomainAdmin"
    USER = "User"


ACCOUNT_TYPES = {
    RoleType.USER: 0,
    RoleType.ADMIN: 1,
    RoleType.DOMAIN_ADMIN: 2,
    RoleType.RESOURCE_ADMIN: 3,
}
"""`accounttype` of an account with a role of this type."""


class Permission(StrEnum):
    """Of a rule."""

    ALLOW = "allow"
    DENY = "deny"


@dataclass(slots=True, kw_only=True)
class Rule:
    """One rule of a role: the first that fits decides.

    Attributes:
        rule: A command's name, `*` for any characters.
    """

    id: str
    rule: str
    permission: Permission
    description: str | None = None


@dataclass(slots=True, kw_only=True)
class Role:
    """Attributes: preset: one of the four that come with CloudStack; its rules are the list's."""

    id: str
    name: str
    type: RoleType
    description: str | None = None
    preset: bool = False
    public: bool = True
    rules: list[Rule] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Domain:
    """Attributes: path: from ROOT, with slashes. number: as in the database, for error texts."""

    id: str
    name: str
    path: str
    parent: str | None = None
    created: float | None = None
    number: int = 1


@dataclass(slots=True, kw_only=True)
class Account:
    """Attributes: number: the database's; instance names have it."""

    id: str
    name: str
    domain: str
    role: str
    number: int
    created: float = 0.0


@dataclass(slots=True, kw_only=True)
class User:
    """Attributes: key: None: nobody can call as this user yet."""

    id: str
    name: str
    account: str
    first_name: str = ""
    last_name: str = ""
    email: str = ""
    created: float = 0.0
    key: str | None = None
    secret: Secret | None = None


@dataclass(slots=True, kw_only=True)
class Project:
    """Attributes: owner: account. account: the one that its instances belong to."""

    id: str
    name: str
    display_text: str
    owner: str
    account: str
    created: float
