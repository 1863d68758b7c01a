"""For which CloudStack a caller of verbs speaks: a process by its uid, an entry by its certificate.

The payload never says it.
"""

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from starlette.requests import Request

from provisioner.errors import ErrorCode, InputError, OperatorError
from provisioner.ports.clock import Clock
from provisioner.service.by_certificate import peer_certificate
from provisioner.service.entries import Shown, parse_entries, refusal
from provisioner.service.peers import peer_uid
from provisioner.units import SiteName, WallSeconds

log = logging.getLogger(__name__)

WARN_BEFORE_S: Final = 30 * 86400.0
WARN_EVERY_S: Final = 86400.0


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
    _warned_at: dict[int, WallSeconds] = field(default_factory=dict, init=False)

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
        self._warn_of_its_end(shown)
        return Caller(shown.site, f"entry {shown.name}")

    def _warn_of_its_end(self, shown: Shown) -> None:
        """For a month, each day: with the last certificate all verbs of its CloudStack fail."""
        now = self.clock.wall()
        left = shown.ends_at - now
        warned_at = self._warned_at.get(shown.serial, 0.0)
        if left < WARN_BEFORE_S and now - warned_at >= WARN_EVERY_S:
            self._warned_at[shown.serial] = now
            days, name = left / 86400, shown.name
            log.warning("the certificate of entry %s ends in %.1f days", name, days)
