"""Certificates of entries: a file of lines `name site serial end`; no key is in it. Pure.

Lines are only added. A certificate whose serial number stands in no line is unknown, whoever
signed it; one with a line `name site serial revoked` is revoked for ever.
"""

import re
from dataclasses import dataclass
from datetime import date
from typing import Final

from provisioner.errors import ErrorCode, InputError, OperatorError
from provisioner.service.tokens import NAME
from provisioner.units import SiteName, WallSeconds

UNIT: Final = "Rackwright entry"
"""Organizational unit in the subject of such a certificate; the site is the organization."""
REVOKED: Final = "revoked"
_SERIAL: Final = re.compile(r"[0-9A-F]{2,40}")
_WORDS: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryLine:
    """What was once written down of a certificate.

    Attributes:
        ends: Its last day; None is a revocation.
    """

    name: str
    site: SiteName
    serial: int
    ends: date | None

    def line(self) -> str:
        """As it stands in the file; the serial as OpenSSL shows it."""
        return f"{self.name} {self.site} {serial_text(self.serial)} {self.ends or REVOKED}\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A certificate that a caller has shown, as far as TLS believes it: signed by our authority.

    Attributes:
        ends_at: Its end.
    """

    name: str
    site: SiteName
    serial: int
    ends_at: WallSeconds


def serial_text(serial: int) -> str:
    """Hexadecimal, in whole bytes."""
    digits = f"{serial:X}"
    return digits.zfill(len(digits) + len(digits) % 2)


def parse_entries(text: str) -> tuple[EntryLine, ...]:
    """All lines; empty ones and those that begin with # are left out.

    Raises:
        OperatorError: CONFIG_INVALID, naming the line's number.
    """
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        parsed = _parsed(words)
        if parsed is None:
            raise OperatorError(
                ErrorCode.CONFIG_INVALID, f"entries: line {number} is not one of ours"
            )
        found.append(parsed)
    return tuple(found)


def refusal(shown: Shown, lines: tuple[EntryLine, ...], *, now: WallSeconds) -> str:
    """Why this certificate speaks for nobody; "" where it speaks for its site."""
    what = f"the certificate {serial_text(shown.serial)} of entry {shown.name}, site {shown.site},"
    same = [each for each in lines if each.serial == shown.serial]
    if any(each.ends is None for each in same):
        return f"{what} was revoked"
    if not any((each.name, each.site) == (shown.name, shown.site) for each in same):
        return f"{what} is not known here"
    if now >= shown.ends_at:
        return f"{what} has expired"
    return ""


def revocations(
    name: str, lines: tuple[EntryLine, ...], *, but_newest: bool
) -> tuple[EntryLine, ...]:
    """Lines to add, so that an entry's certificates count no longer; none: they already do not.

    Args:
        name: Of the entry.
        lines: The file's, in their order.
        but_newest: The one that was issued last stays good.

    Raises:
        InputError: NAME_INVALID: no certificate was issued for this entry.
    """
    issued = [each for each in lines if each.name == name and each.ends is not None]
    if not issued:
        known = ", ".join(sorted({each.name for each in lines})) or "none at all"
        text = f"no certificate was issued for an entry {name}; for: {known}"
        raise InputError(ErrorCode.NAME_INVALID, text)
    gone = {each.serial for each in lines if each.ends is None}
    ending = issued[:-1] if but_newest else issued
    return tuple(
        EntryLine(name=name, site=each.site, serial=each.serial, ends=None)
        for each in ending
        if each.serial not in gone
    )


def _parsed(words: list[str]) -> EntryLine | None:
    if len(words) != _WORDS:
        return None
    name, site, serial, end = words
    good = NAME.fullmatch(name) and NAME.fullmatch(site) and _SERIAL.fullmatch(serial)
    try:
        ends = None if end == REVOKED else date.fromisoformat(end)
    except ValueError:
        return None
    if not good:
        return None
    return EntryLine(name=name, site=SiteName(site), serial=int(serial, 16), ends=ends)
