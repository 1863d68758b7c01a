"""What an administrator wants registered: one versioned YAML file as frozen values. Pure.

Unknown keys, wrong values and contradictions are named all at once, each with its path, before
anybody is asked anything. docs/examples/cloudstack.yaml shows and explains every key.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

from cloudstack_ext.contract import STATUSES, Verb
from cloudstack_ext.registration.actions import ACTIONS, ActionName, RoleType
from cloudstack_ext.registration.settings import SettingName
from provisioner.errors import ErrorCode, InputError
from provisioner.servers.manifest import yaml_tree
from provisioner.strict import between, matching, read, refused

Name = Annotated[str, matching(r"[a-z0-9][a-z0-9-]{0,62}", "a name ([a-z0-9][a-z0-9-]{0,62})")]
Title = Annotated[
    str,
    matching(r"(?! )[^\x00-\x1f\x7f~]{1,128}(?<! )", "one line of at most 128 characters, no ~"),
]
Text = Annotated[
    str,
    matching(r"(?! )[^\x00-\x1f\x7f~]{1,255}(?<! )", "one line of at most 255 characters, no ~"),
]
Tag = Annotated[str, matching(r"[A-Za-z0-9_.-]{1,64}", "a tag ([A-Za-z0-9_.-]{1,64})")]
Key = Annotated[str, matching(r"[!-}]{1,128}", "an image's name in the pool's map")]
Endpoint = Annotated[str, matching(r"https?://[^\s~]+[^\s~/]", "https://…/client/api")]
Uuid = Annotated[str, matching(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "an id of CloudStack")]
EntryFile = Annotated[
    str,
    matching(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}", "the name of a file in the extension's folder"),
]
Domain = Annotated[str, matching(r"ROOT(/[^\x00-\x1f\x7f~/]{1,255})*", "a domain's path (ROOT/a)")]

HostKey = Annotated[
    str,
    matching(
        r"(ssh-ed25519|ecdsa-sha2-nistp(256|384|521)|ssh-rsa) [A-Za-z0-9+/]+={0,2}",
        "a host key (ssh-ed25519 AAAA…)",
    ),
]
Word = Annotated[str, matching(r"[a-z_][a-z0-9_-]{0,31}", "a user's name")]

DEFAULT_OS: Final = "Other Linux (64-bit)"
VERBS: Final = frozenset({*(verb.value for verb in Verb), STATUSES, "getconsole"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtensionWanted:
    """The extension itself.

    Attributes:
        path: Of the entry in the extension's folder on every management server. For a missing
            file that ends in .sh CloudStack writes a script of its own.
    """

    name: Name = "rackwright"
    path: EntryFile = "rackwright-entry"
    text: Text = "Rackwright: physical servers as instances"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterWanted:
    """The cluster of type External."""

    name: Title
    arch: Annotated[str, matching("x86_64|aarch64", "x86_64 or aarch64")] = "x86_64"


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolWanted:
    """One host of CloudStack for one pool of servers.

    Attributes:
        host: The label that CloudStack shows as the host's name.
        tag: The host's first tag. CloudStack's planner looks at an offering's first tag alone
            and always takes the first host that has it, so no other host may.
        more_tags: For people; nothing chooses by them.
    """

    host: Name
    tag: Tag
    pool: Name
    more_tags: tuple[Tag, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageWanted:
    """One template.

    Attributes:
        image: A key of the pools' maps of images.
        os: CloudStack's own name of an operating system.
        public: Every account sees it.
    """

    template: Title
    image: Key
    os: Title = DEFAULT_OS
    text: Text | None = None
    public: bool = True
    featured: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeWanted:
    """One offering.

    Attributes:
        pool: Of servers.
        gpucount: Counted in CloudStack's limits; never a vGPU profile, which breaks the host's
            pings once an instance is stopped.
        domains: Who sees it; empty is everybody.
    """

    name: Title
    pool: Name
    cpu: Annotated[int, between(1, 4096)]
    mhz: Annotated[int, between(1, 100_000)]
    memory_mib: Annotated[int, between(1, 2**30)]
    gpucount: Annotated[int, between(1, 1024)] | None = None
    text: Text | None = None
    domains: tuple[Domain, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionWanted:
    """One custom action.

    Attributes:
        roles: Who may run it besides Admin.
    """

    name: ActionName
    roles: frozenset[RoleType] = frozenset({RoleType.USER})
    enabled: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignTemplate:
    """A template that somebody else registered and that may be deployed all the same."""

    id: Uuid
    image: Key


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerWanted:
    """One management server, as it is reached over SSH.

    Attributes:
        name: As CloudStack lists it.
        host_key: Pinned: its type and the key, as `ssh-keyscan` prints them behind the name.
        key_file: Our private key.
        entry_files: Folder that `rackwright init entry` made for it; None: the entry reaches the
            service through a Unix socket on the server itself.
        owner: Who runs CloudStack there.
    """

    name: Title
    address: Annotated[str, matching(r"[A-Za-z0-9.:_-]{1,253}", "an address or a host name")]
    host_key: HostKey
    key_file: Path
    user: Word = "root"
    port: Annotated[int, between(1, 65535)] = 22
    entry_files: Path | None = None
    owner: Word = "cloud"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The whole file.

    Attributes:
        site: This CloudStack's name in the service's settings ([[extension.sites]]).
        zone: By its name; pod too.
        settings: Of CloudStack, as the operator decided; changed with --settings only.
    """

    version: Annotated[int, between(1, 1)]
    site: Name
    endpoint: Endpoint
    zone: Title
    pod: Title
    cluster: ClusterWanted
    pools: tuple[PoolWanted, ...]
    images: tuple[ImageWanted, ...]
    sizes: tuple[SizeWanted, ...]
    extension: ExtensionWanted = ExtensionWanted()
    actions: tuple[ActionWanted, ...] = ()
    foreign_templates: tuple[ForeignTemplate, ...] = ()
    settings: Mapping[SettingName, Text] | None = None
    servers: tuple[ServerWanted, ...] = ()
    ca: Path | None = None

    def host_of(self, pool: str) -> PoolWanted:
        """The entry of a server pool; the file was checked to have one."""
        return next(each for each in self.pools if each.pool == pool)


def parse_wanted(text: str, *, source: str, folder: Path) -> Wanted:
    """The values of one YAML text.

    Args:
        text: The file's content.
        source: Its name, for the error's line.
        folder: Relative paths in it start here.

    Raises:
        InputError: REGISTRATION_INVALID, with every problem and its path.
    """
    code, problems = ErrorCode.REGISTRATION_INVALID, []
    tree = yaml_tree(text, code=code, source=source)
    wanted = None
    try:
        wanted = read(Wanted, tree, code=code, source=source, folder=folder)
    except InputError as error:
        problems = error.detail.splitlines()
    # also where something else is wrong: nobody wants to learn of the second mistake later
    problems += contradictions(tree)
    if wanted is None or problems:
        raise refused(problems, code=code, source=source)
    return wanted


def contradictions(tree: object) -> Iterator[str]:
    """What the values do not agree on, each with its path.

    Args:
        tree: As the file has it; what is no value of ours is passed over.
    """
    yield from _twice(tree, "pools", "host", "one label is one host")
    yield from _twice(tree, "pools", "tag", "the first host of a tag is always taken")
    yield from _twice(tree, "pools", "pool", "a pool has one host; to split it, make two")
    yield from _twice(tree, "images", "template", "one template has one image")
    yield from _twice(tree, "sizes", "name", "one offering has one size")
    yield from _twice(tree, "actions", "name", "")
    yield from _twice(tree, "foreign_templates", "id", "one template has one image")
    yield from _twice(tree, "servers", "name", "")
    yield from _tags(tree)
    yield from _pools_of_sizes(tree)
    yield from _names_of_actions(tree)
    yield from _entry(tree)


def _rows(tree: object, section: str) -> list[tuple[str, Mapping[str, Any]]]:
    rows = tree.get(section) if isinstance(tree, dict) else None
    return [
        (f"{section}[{number}]", row)
        for number, row in enumerate(rows if isinstance(rows, list) else [])
        if isinstance(row, dict)
    ]


def _twice(tree: object, section: str, key: str, why: str) -> Iterator[str]:
    first: dict[str, str] = {}
    for path, row in _rows(tree, section):
        value = row.get(key)
        if not isinstance(value, str):
            continue
        if value in first:
            yield f"{path}.{key}: {value} stands twice ({first[value]}){why and f': {why}'}"
        first.setdefault(value, path)


def _tags(tree: object) -> Iterator[str]:
    """A first tag that is another host's further one would still find that host."""
    rows = _rows(tree, "pools")
    firsts = {row.get("tag"): path for path, row in rows if isinstance(row.get("tag"), str)}
    for path, row in rows:
        more = row.get("more_tags")
        for tag in more if isinstance(more, list) else []:
            if isinstance(tag, str) and tag in firsts:
                yield f"{path}.more_tags: {tag} is the first tag of {firsts[tag]}"


def _pools_of_sizes(tree: object) -> Iterator[str]:
    known = {row.get("pool") for _, row in _rows(tree, "pools")}
    for path, row in _rows(tree, "sizes"):
        pool = row.get("pool")
        if isinstance(pool, str) and pool not in known:
            yield f"{path}.pool: {pool} is none of this file's pools"


def _names_of_actions(tree: object) -> Iterator[str]:
    only_admins = {name.value for name, action in ACTIONS.items() if action.admin_only}
    for path, row in _rows(tree, "actions"):
        name, roles = row.get("name"), row.get("roles")
        if name in VERBS:
            yield f"{path}.name: {name} is a verb; CloudStack could not tell them apart"
        if name in only_admins and roles != [RoleType.ADMIN.value]:
            yield f"{path}.roles: {name} is for administrators: [{RoleType.ADMIN.value}]"


def _entry(tree: object) -> Iterator[str]:
    extension = tree.get("extension") if isinstance(tree, dict) else None
    path = extension.get("path") if isinstance(extension, dict) else None
    if isinstance(path, str) and path.lower().endswith(".sh"):
        yield "extension.path: ends in .sh, for which CloudStack would write a script of its own"
