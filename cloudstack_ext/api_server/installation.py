"""A management server as it is before anybody registers anything: one zone, keys, settings."""

import secrets
from dataclasses import dataclass

from cloudstack_ext.api_server.global_settings import global_settings
from cloudstack_ext.api_server.handlers.accounts import KEY_BYTES
from cloudstack_ext.api_server.model.accounts import Account, Domain, Role, RoleType, User
from cloudstack_ext.api_server.model.instances import Network
from cloudstack_ext.api_server.model.places import ManagementServer, OsType, Pod, Zone
from cloudstack_ext.api_server.state import State, new_id
from provisioner.secret import Secret

ROOT_ADMIN = "admin"
ACME_ADMIN = "dadmin"
USERS = ("alice", "bob")
_ROLES = {
    RoleType.ADMIN: "Root Admin",
    RoleType.RESOURCE_ADMIN: "Resource Admin",
    RoleType.DOMAIN_ADMIN: "Domain Admin",
    RoleType.USER: "User",
}
_OS_TYPES = {"Debian": ("Debian GNU/Linux 12 (64-bit)",), "Ubuntu": ("Ubuntu 24.04 LTS",)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """Of one user, for `cs`."""

    key: str
    secret: Secret


def new_installation(now: float) -> State:
    """One management server, one zone with a pod, domain acme below ROOT, a user of each role."""
    state = State(started=now)
    server = ManagementServer(id=new_id(), started=now)
    zone = Zone(id=new_id(), name="zone1")
    pod = Pod(id=new_id(), name="pod1", zone=zone.id)
    network = Network(id=new_id(), name="shared", vlan=1300)
    state.servers[server.id], state.zones[zone.id] = server, zone
    state.pods[pod.id], state.networks[network.id] = pod, network
    for family, names in _OS_TYPES.items():
        category = new_id()
        for name in names:
            kind = OsType(id=new_id(), name=name, category=category, category_name=family)
            state.os_types[kind.id] = kind
    state.settings.update({each.name: each for each in global_settings()})
    root = Domain(id=new_id(), name="ROOT", path="ROOT")
    acme = Domain(id=new_id(), name="acme", path="ROOT/acme", parent=root.id, created=now, number=2)
    state.domains.update({each.id: each for each in (root, acme)})
    roles = {
        kind: Role(id=new_id(), name=name, type=kind, preset=True) for kind, name in _ROLES.items()
    }
    state.roles.update({each.id: each for each in roles.values()})
    add_user(state, ROOT_ADMIN, root, roles[RoleType.ADMIN], now)
    add_user(state, ACME_ADMIN, acme, roles[RoleType.DOMAIN_ADMIN], now)
    for name in USERS:
        add_user(state, name, acme, roles[RoleType.USER], now)
    return state


def add_user(state: State, name: str, domain: Domain, role: Role, now: float) -> User:
    """An account with one user of the same name, who has a key."""
    account = Account(
        id=new_id(),
        name=name,
        domain=domain.id,
        role=role.id,
        number=state.next_number("account"),
        created=now,
    )
    user = User(
        id=new_id(),
        name=name,
        account=account.id,
        created=now,
        key=secrets.token_urlsafe(KEY_BYTES),
        secret=Secret(secrets.token_urlsafe(KEY_BYTES)),
    )
    state.accounts[account.id], state.users[user.id] = account, user
    return user


def keys_of(state: State) -> dict[str, Key]:
    """Of everybody who has one, by the user's name."""
    return {
        user.name: Key(key=user.key, secret=user.secret)
        for user in state.users.values()
        if user.key is not None and user.secret is not None
    }
