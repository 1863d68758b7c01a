"""The options of a change."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    """The options of a change.

    Attributes:
        evidence: Folder for the unsigned record.
    """

    output: str
    dry_run: bool
    evidence: Path | None
