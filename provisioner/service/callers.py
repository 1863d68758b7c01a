"""For which CloudStack a caller of verbs speaks: a process by its uid, an entry by its certificate.

The payload never says it.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from starlette.requests import Request

from provisioner.errors import ErrorCode, InputError, OperatorError
from provisioner.ports.clock import Clock
from provisioner.service.by_certificate import peer_certificate
from provisioner.service.entries import parse_entries, refusal
from provisioner.service.peers import peer_uid
from provisioner.units import SiteName


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls.

    Attributes:
        site: It speaks for this one.
        by: "uid 997" or "entry mgmt1": how the service knows; stands in the audit.
    """

    site: SiteName
    by: str


class CallerOf(Protocol):
    """Tells who sent a request; nothing of its body has been read."""

    def __call__(self, request: Request) -> Caller:
        """Raises RackwrightError: it speaks for no CloudStack."""
        ...


@dataclass(frozen=True, slots=True)
class CallerByUid:
    """By the uid that the kernel says of the other end.

    Attributes:
        site_of_uid: For which site each uid speaks; nobody else is answered.
    """

    site_of_uid: Mapping[int, SiteName]

    def __call__(self, request: Request) -> Caller:
        """Raises InputError PERMISSION."""
        uid = peer_uid(request)
        site = self.site_of_uid.get(uid) if uid is not None else None
        if site is None:
            text = f"uid {uid} speaks for no CloudStack; see extension.sites of the configuration"
            raise InputError(ErrorCode.PERMISSION, text)
        return Caller(site, f"uid {uid}")


@dataclass(frozen=True, slots=True)
class CallerByCertificate:
    """By the certificate that the handshake found signed by our authority.

    Attributes:
        read_entries: The text of the file of certificates; read anew, so that a revocation
            counts at once, also on a connection that is kept.
        sites: Those of the configuration.
    """

    read_entries: Callable[[], str]
    sites: Collection[SiteName]
    clock: Clock

    def __call__(self, request: Request) -> Caller:
        """Raises OperatorError TLS_REFUSED; InputError PERMISSION: the site is not configured."""
        shown = peer_certificate(request)
        if shown is None:
            raise OperatorError(ErrorCode.TLS_REFUSED, "this certificate is not that of an entry")
        why = refusal(shown, parse_entries(self.read_entries()), now=self.clock.wall())
        if why:
            raise OperatorError(ErrorCode.TLS_REFUSED, why)
        if shown.site not in self.sites:
            text = f"site {shown.site} of entry {shown.name} is not in extension.sites"
            raise InputError(ErrorCode.PERMISSION, text)
        return Caller(shown.site, f"entry {shown.name}")
