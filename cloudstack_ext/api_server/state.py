"""All that the server keeps, in memory; whoever holds `lock` may look and change."""

import threading
import uuid
from dataclasses import dataclass, field

from cloudstack_ext.api_server.jobs import Job
from cloudstack_ext.api_server.model.accounts import Account, Domain, Project, Role, User
from cloudstack_ext.api_server.model.catalogue import (
    CustomAction,
    Extension,
    Offering,
    Registration,
    Setting,
    Template,
)
from cloudstack_ext.api_server.model.instances import Annotation, Instance, Network
from cloudstack_ext.api_server.model.places import (
    Cluster,
    Host,
    ManagementServer,
    OsType,
    Pod,
    Zone,
)


@dataclass(slots=True, kw_only=True)
class State:
    """Objects by id, settings by name.

    Attributes:
        lock: Held while a call is answered; tests take it while they change something under a
            running server.
        registrations: By the cluster's id: a cluster belongs to one extension at most.
        keypairs: Public keys by the name of the pair.
        limits: Of each account, by resource as error texts name it.
        numbers: The last number given of each kind, as a database counts its rows.
        started: Seconds since 1970; the checks of paths are counted from here.
        path_rounds: How many checks of the paths there were.
    """

    lock: threading.RLock = field(default_factory=threading.RLock, repr=False)
    domains: dict[str, Domain] = field(default_factory=dict)
    roles: dict[str, Role] = field(default_factory=dict)
    accounts: dict[str, Account] = field(default_factory=dict)
    users: dict[str, User] = field(default_factory=dict)
    projects: dict[str, Project] = field(default_factory=dict)
    servers: dict[str, ManagementServer] = field(default_factory=dict)
    zones: dict[str, Zone] = field(default_factory=dict)
    pods: dict[str, Pod] = field(default_factory=dict)
    os_types: dict[str, OsType] = field(default_factory=dict)
    clusters: dict[str, Cluster] = field(default_factory=dict)
    hosts: dict[str, Host] = field(default_factory=dict)
    extensions: dict[str, Extension] = field(default_factory=dict)
    registrations: dict[str, Registration] = field(default_factory=dict)
    actions: dict[str, CustomAction] = field(default_factory=dict)
    templates: dict[str, Template] = field(default_factory=dict)
    offerings: dict[str, Offering] = field(default_factory=dict)
    settings: dict[str, Setting] = field(default_factory=dict)
    networks: dict[str, Network] = field(default_factory=dict)
    instances: dict[str, Instance] = field(default_factory=dict)
    annotations: dict[str, Annotation] = field(default_factory=dict)
    jobs: dict[str, Job] = field(default_factory=dict)
    keypairs: dict[str, str] = field(default_factory=dict)
    limits: dict[str, int] = field(default_factory=lambda: {"cpu": 40, "gpu": 20, "template": 20})
    numbers: dict[str, int] = field(default_factory=dict)
    started: float = 0.0
    path_rounds: int = 0

    def next_number(self, kind: str) -> int:
        """As a database counts the rows of a table."""
        self.numbers[kind] = self.numbers.get(kind, 0) + 1
        return self.numbers[kind]

    def role_of(self, user: User) -> Role:
        """A user has the role of the account."""
        return self.roles[self.accounts[user.account].role]

    def user_of_key(self, key: str) -> User | None:
        """None: nobody's key."""
        return next((user for user in self.users.values() if key and user.key == key), None)

    def hosts_of(self, cluster: str) -> list[Host]:
        """In the order in which they were added."""
        return [host for host in self.hosts.values() if host.cluster == cluster]

    def living(self) -> list[Instance]:
        """Instances that are not expunged."""
        return [each for each in self.instances.values() if not each.removed]


def new_id() -> str:
    """A UUID, as CloudStack gives to everything."""
    return str(uuid.uuid4())
