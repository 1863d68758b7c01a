"""The custom actions that Rackwright can register: names, parameters, what is said of them. Pure.

CloudStack runs an action under its own name as verb, so none may be called like a verb.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

TIMEOUT_S: Final = 20
"""Answered within 8: a long one starts or attaches, and answers operation id and stage."""
SUCCESS: Final = "{{actionName}}: done for {{resourceName}}"
FAILURE: Final = "{{actionName}} failed for {{resourceName}}: run why"
"""CloudStack's UI shows this instead of what a failed action printed."""


class RoleType(StrEnum):
    """Of CloudStack's roles; Admin may run every action whatever is registered."""

    ADMIN = "Admin"
    RESOURCE_ADMIN = "ResourceAdmin"
    DOMAIN_ADMIN = "DomainAdmin"
    USER = "User"


class ActionName(StrEnum):
    """As users see them."""

    REINSTALL = "reinstall"
    RESEED = "reseed"
    RESCUE = "rescue"
    POWER_CYCLE = "power-cycle"
    CONSOLE_LOG = "console-log"
    HARDWARE_INVENTORY = "hardware-inventory"
    HEALTH_CHECK = "health-check"
    WHY = "why"
    PROGRESS = "progress"
    CERTIFICATE = "certificate"
    CORDON = "cordon"
    UNCORDON = "uncordon"


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionParameter:
    """One value that a user gives.

    Attributes:
        kind: STRING, NUMBER, BOOLEAN or DATE; CloudStack wants it although its text says it
            may be left out.
    """

    name: str
    required: bool
    kind: str = "STRING"
    format: str = "NONE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """What is registered of one, but for roles and whether it is enabled."""

    text: str
    parameters: tuple[ActionParameter, ...] = ()
    admin_only: bool = False


_CONFIRM: Final = ActionParameter(name="confirm", required=True)
"""Holds the instance's name: nobody wipes a machine by a slip."""

ACTIONS: Final[Mapping[ActionName, Action]] = MappingProxyType(
    {
        ActionName.REINSTALL: Action(
            text="Write the root disk anew; confirm = name of the instance",
            parameters=(_CONFIRM, ActionParameter(name="image", required=False)),
        ),
        ActionName.RESEED: Action(
            text="Hand out the instance's user data again, without reimaging"
        ),
        ActionName.RESCUE: Action(text="Boot a rescue system with the instance's keys"),
        ActionName.POWER_CYCLE: Action(
            text="Switch the machine off and on; confirm = name of the instance",
            parameters=(_CONFIRM,),
        ),
        ActionName.CONSOLE_LOG: Action(text="Show the last lines of the console"),
        ActionName.HARDWARE_INVENTORY: Action(text="Show what the machine is made of"),
        ActionName.HEALTH_CHECK: Action(
            text="Show power, network and how old what is known of them is"
        ),
        ActionName.WHY: Action(text="Say how the instance is, and why its last operation failed"),
        ActionName.PROGRESS: Action(text="Show how far the running operation is"),
        ActionName.CERTIFICATE: Action(text="Show the signed statement of the wipe before you"),
        ActionName.CORDON: Action(
            text="Hand this machine to nobody after this instance",
            parameters=(ActionParameter(name="reason", required=True),),
            admin_only=True,
        ),
        ActionName.UNCORDON: Action(text="End a cordon", admin_only=True),
    }
)
