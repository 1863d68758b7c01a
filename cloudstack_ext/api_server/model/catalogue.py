"""What is registered: extensions, their clusters and actions, templates, offerings, settings."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class ExtensionState(StrEnum):
    """Whether its verbs are called."""

    ENABLED = "Enabled"
    DISABLED = "Disabled"


class OfferingState(StrEnum):
    """Whether it may be bought."""

    ACTIVE = "Active"
    INACTIVE = "Inactive"


@dataclass(slots=True, kw_only=True)
class Extension:
    """An Orchestrator extension.

    Attributes:
        path: Of its entry, below the folder of all extensions.
        path_ready: As found by the last check.
        prepare: Whether the verb is called; None: it was never said, and it is not.
        details: None was given: then answers have no `details`.
    """

    id: str
    name: str
    path: str
    prepare: bool | None
    created: float
    description: str | None = None
    path_ready: bool = True
    user_defined: bool = True
    state: ExtensionState = ExtensionState.ENABLED
    details: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class Registration:
    """That a cluster is an extension's; `details` is what CloudStack calls the resource map."""

    extension: str
    cluster: str
    created: float
    details: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class CustomAction:
    """Attributes: parameters: each as it goes over the wire. roles: as they were given."""

    id: str
    name: str
    extension: str
    created: float
    description: str | None = None
    roles: tuple[str, ...] = ("Admin",)
    success_message: str | None = None
    error_message: str | None = None
    timeout_s: int = 3
    enabled: bool = False
    details: dict[str, str] = field(default_factory=dict)
    parameters: tuple[Mapping[str, object], ...] = ()


@dataclass(slots=True, kw_only=True)
class Template:
    """A template of format External.

    Attributes:
        details: With the prefix, as answers have them.
        accounts: Names of those that may use it beside its owner.
        removed: Deleted, while instances may still name it.
    """

    id: str
    name: str
    display_text: str
    account: str
    zone: str
    os_type: str
    url: str
    created: float
    hypervisor: str = "External"
    arch: str = "x86_64"
    public: bool = False
    featured: bool = False
    requires_hvm: bool = True
    extension: str | None = None
    details: dict[str, str] = field(default_factory=dict)
    accounts: tuple[str, ...] = ()
    removed: bool = False


@dataclass(slots=True, kw_only=True)
class Offering:
    """A service offering.

    Attributes:
        details: With the prefix.
        domains, zones: That it is for; (): all.
        removed: Deleted, while instances may still run with it.
    """

    id: str
    name: str
    display_text: str
    cpus: int
    cpu_mhz: int
    memory_mib: int
    created: float
    disk_offering: str
    state: OfferingState = OfferingState.ACTIVE
    tags: str | None = None
    ha: bool = False
    limit_cpu: bool = False
    gpus: int | None = None
    details: dict[str, str] = field(default_factory=dict)
    domains: tuple[str, ...] = ()
    zones: tuple[str, ...] = ()
    removed: bool = False


@dataclass(slots=True, kw_only=True)
class Setting:
    """One global setting.

    Attributes:
        dynamic: Taken at once; else with the next start of the server.
        kind: "Number", "Boolean", "String", "CSV", "Range" …
        options: Of a kind "Order" or "Select".
    """

    name: str
    value: str | None
    default: str | None
    kind: str = "String"
    dynamic: bool = True
    description: str = ""
    component: str = ""
    category: str = "Advanced"
    group: str = "Miscellaneous"
    subgroup: str = "Others"
    options: str | None = None
