"""Whole operations, for verbs."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from provisioner.ports.controllers import PowerAct
from provisioner.servers.allocation import (
    InstanceKey,
    InstanceRequest,
    InstanceView,
    Protection,
)
from provisioner.units import HostLabel, MacAddress, MonotonicSeconds, ServerName, SiteName


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserved:
    """A server is kept for the instance; `macs` by nicUuid are the server's own."""

    server: ServerName
    macs: Mapping[str, MacAddress]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A verb's success in one line for the caller."""

    text: str


Certify = Callable[[InstanceRequest, str | None], Awaitable[InstanceRequest]]
"""Asked right before an instance is installed (None), or switched on (what was bought with it).

Answers the request as it may be done: with the owner, with what was bought; or raises."""


async def as_it_is(request: InstanceRequest, _size: str | None) -> InstanceRequest:
    """Nobody is asked."""
    return request


class Machines(Protocol):
    """Bare metal as whole operations: ours, or another engine's.

    Raises InputError, ConflictError, OperatorError or TransientError with a brief that a
    tenant may read. `until` is the moment by which an answer must be given.
    """

    async def reserve(self, request: InstanceRequest) -> Reserved:
        """Keep a server for this instance; asking again gives the same one."""
        ...

    async def deploy(
        self, request: InstanceRequest, *, until: MonotonicSeconds, certify: Certify = as_it_is
    ) -> Answer:
        """Install and start; attach to a running deployment; start an installed instance."""
        ...

    async def power(
        self,
        request: InstanceRequest,
        act: PowerAct,
        *,
        until: MonotonicSeconds,
        certify: Certify = as_it_is,
    ) -> Answer:
        """ON is start, OFF is stop (graceful first), CYCLE is reboot."""
        ...

    async def release(
        self,
        key: InstanceKey,
        who: str,
        *,
        until: MonotonicSeconds,
        protection: Protection = Protection.NOT_ASKED,
    ) -> Answer:
        """End the allocation for good; success also where there is none.

        One that is protected, or of which nobody could say, is fenced and wiped days later.
        """
        ...

    async def observe(self, key: InstanceKey) -> InstanceView:
        """What is remembered; milliseconds, no controller."""
        ...

    async def observe_host(self, site: SiteName, host: HostLabel) -> Mapping[str, InstanceView]:
        """The same for every instance of a host, by its name; or an error, never a part."""
        ...
