"""What differs between a site's own books and ours, and who may do something about it."""

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from provisioner.units import InstanceId, MonotonicSeconds, ServerName, SiteName


class Act(StrEnum):
    """What is done about a difference."""

    REMEMBER = "remember"
    """By itself: our record follows."""
    POWER_OFF = "power-off"
    """By itself: a stop that the site believes done already."""
    RELEASE = "release"
    """When a person applies it: fence, and wipe in its turn."""
    TELL = "tell"
    """Somebody must look; nothing of ours would be right."""


BY_ITSELF = frozenset({Act.REMEMBER, Act.POWER_OFF})


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One difference of one instance.

    Attributes:
        kind: A word of whoever compares.
        server: None where none is bound.
        there: As the site shows it.
        here: As we remember it.
        remedy: What a person does; "" where it is mended by itself.
    """

    kind: str
    instance: InstanceId
    name: str
    server: ServerName | None
    there: str
    here: str
    cause: str
    remedy: str
    act: Act

    @property
    def id(self) -> str:
        """The same as long as it is the same difference: by it a person applies it."""
        text = f"{self.kind} {self.instance} {self.there!r} {self.here!r}"
        return hashlib.sha256(text.encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """How one site stood at the last look.

    Attributes:
        at: When it was asked; None: it never answered.
        doubt: Why the newest answer is not believed, or why there was none; "" where all is well.
    """

    site: SiteName
    at: MonotonicSeconds | None = None
    doubt: str = ""
    findings: tuple[Finding, ...] = ()


class Differences(Protocol):
    """Who compares."""

    def reports(self) -> tuple[Report, ...]:
        """As each site stood at its last look; no site is asked."""
        ...

    async def still(self, identifier: str) -> tuple[SiteName, Finding]:
        """One finding that waits for a person, if it is still so: the site is asked anew.

        Raises:
            ConflictError: STATE_CONFLICT: it is not so any more, or nothing can be done about it.
            RackwrightError: Nobody can say whether it is still so.
        """
        ...

    async def apply(self, identifier: str, who: str) -> Finding:
        """Look, and do what it waits for."""
        ...
