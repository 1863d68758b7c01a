"""One action at work, and the rows that it answers with."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from cloudstack_ext.contract import ActionRequest
from provisioner.ports.instance_changes import InstanceChanges
from provisioner.ports.tenant_desk import TenantDesk
from provisioner.servers.allocation import InstanceKey, InstanceRequest
from provisioner.units import MonotonicSeconds

Row = Mapping[str, str]
"""Flat, and with the same keys as the other rows of its answer: CloudStack's UI shows a table."""


Anew = Callable[[InstanceRequest, str, str | None, MonotonicSeconds], Awaitable[InstanceRequest]]
"""The request, what was bought with it, the image that is asked for, and by when."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What an action is given.

    Attributes:
        changes: None: these machines have none.
        names: What the instance's owner calls it, as far as CloudStack says so in time.
        anew: What CloudStack says of it right before it is written anew.
        until: When it must be answered.
    """

    request: ActionRequest
    desk: TenantDesk
    changes: InstanceChanges | None
    names: Callable[[InstanceKey], Awaitable[frozenset[str]]]
    anew: Anew
    until: MonotonicSeconds

    @property
    def key(self) -> InstanceKey:
        """Of the instance."""
        return self.request.instance.key


def item(name: str, value: str) -> Row:
    """A row of most actions."""
    return {"item": name, "value": value}
