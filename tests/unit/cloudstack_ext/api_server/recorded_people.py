"""Who was there when the answers were recorded: domains, roles, users with a key each."""

from cloudstack_ext.api_server.model.accounts import Account, Domain, Role, RoleType, User
from cloudstack_ext.api_server.model.places import ManagementServer
from provisioner.secret import Secret
from tests.unit.cloudstack_ext.api_server.recorded import moment

ROOT, ACME = "00d1d0a5-ecb0-11f1-a920-02fc00000001", "5a6f18fd-c416-49d9-918b-21e14cba3013"
SECRET = "secret of the recordings"
PEOPLE = {  # user id, account id, number of the account, role, domain
    "system": (
        "00d1e834-ecb0-11f1-a920-02fc00000001",
        "00d1db39-ecb0-11f1-a920-02fc00000001",
        1,
        RoleType.ADMIN,
        ROOT,
    ),
    "admin": (
        "00d2537d-ecb0-11f1-a920-02fc00000001",
        "00d1e05b-ecb0-11f1-a920-02fc00000001",
        2,
        RoleType.ADMIN,
        ROOT,
    ),
    "alice": (
        "f3594739-f20e-467e-b8c7-1db339e0d97e",
        "6922f8ba-5eb3-4eab-aab5-c5e1ad1fbe00",
        7,
        RoleType.USER,
        ACME,
    ),
    "bob": (
        "0b000000-0000-4000-8000-000000000008",
        "0b000000-0000-4000-8000-000000000009",
        8,
        RoleType.USER,
        ACME,
    ),
    "dadmin": (
        "5f04326f-a9b6-41c2-9891-671506f3fbbe",
        "0da00000-0000-4000-8000-000000000009",
        9,
        RoleType.DOMAIN_ADMIN,
        ACME,
    ),
}
ROLES = {
    RoleType.ADMIN: ("02256295-ecb0-11f1-a920-02fc00000001", "Root Admin"),
    RoleType.RESOURCE_ADMIN: ("022581eb-ecb0-11f1-a920-02fc00000001", "Resource Admin"),
    RoleType.DOMAIN_ADMIN: ("02258a00-0000-4000-8000-000000000001", "Domain Admin"),
    RoleType.USER: ("02259100-ecb0-11f1-a920-02fc00000001", "User"),
}


def add_people(state):
    state.domains[ROOT] = Domain(id=ROOT, name="ROOT", path="ROOT")
    state.domains[ACME] = Domain(
        id=ACME,
        name="acme",
        path="ROOT/acme",
        parent=ROOT,
        number=3,
        created=moment("2026-11-30T11:25:50+0000"),
    )
    for kind, (role, name) in ROLES.items():
        description = f"Default {name.lower()} role"
        state.roles[role] = Role(
            id=role, name=name, type=kind, preset=True, description=description
        )
    for name, (user, account, number, kind, domain) in PEOPLE.items():
        state.accounts[account] = Account(
            id=account, name=name, domain=domain, role=ROLES[kind][0], number=number
        )
        state.users[user] = User(
            id=user, name=name, account=account, key=name, secret=Secret(SECRET)
        )
    server = "d7da3a64-c8d9-4f66-bd60-0640a3c0e1c5"
    state.servers[server] = ManagementServer(id=server)
