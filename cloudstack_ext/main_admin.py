"""Composition of what an administrator does beside the service: tokens, certificates of entries.

Each is refused to anybody but the owner of the state folder, since what another user writes
there the service could not read; and each leaves a line in the audit before it counts.
"""

import os
import secrets
from datetime import UTC, datetime, timedelta
from pathlib import Path

from provisioner.adapters.clock import SystemClock
from provisioner.adapters.keys import entry_files
from provisioner.cli.callbacks import IssuedEntry
from provisioner.config import EntryAddress, Role, Settings
from provisioner.errors import ErrorCode, InputError
from provisioner.ports.journal import AuditEntry
from provisioner.secret import Secret
from provisioner.service.entries import (
    UNIT,
    EntryLine,
    parse_entries,
    revocations,
    serial_text,
)
from provisioner.service.tokens import RANDOM_BYTES, new_token
from provisioner.store.audit import audit_beside
from provisioner.units import SiteName

CONF_FOLDER = Path("/etc/rackwright")
"""Where the guide puts an entry's files."""


def add_token(settings: Settings, name: str, role: Role) -> Secret:
    """Of an operator; its line is added to the file of tokens."""
    _by_owner(settings)
    path = settings.files().tokens
    existing = path.read_text() if path.exists() else ""
    token, line = new_token(name, role, secrets.token_bytes(RANDOM_BYTES), existing)
    _audit(settings, "init token", name, f"role {role}")
    entry_files.append_line(path, line)
    return token


def issue_entry(settings: Settings, name: str, site: str, out: Path, days: int) -> IssuedEntry:
    """All that one management server needs, in a folder; its certificate counts at once.

    Raises:
        InputError: CONFIG_INVALID: no such site, or no listener for entries.
        RackwrightError: Nothing was made, but perhaps the listener's certificate.
    """
    _by_owner(settings)
    https, files = _listener(settings, site), settings.files()
    _entries(files.entries)  # a file that cannot be read is said before anything is made
    authority = entry_files.load_authority(files.ca_certificate, files.ca_key)
    ends = datetime.now(UTC) + timedelta(days=days)
    issued = authority.issue_client(name, site=site, unit=UNIT, ends=ends)
    line = EntryLine(name=name, site=SiteName(site), serial=issued.serial, ends=ends.date())
    placed = entry_files.place_entry_files(
        out,
        {
            entry_files.ENTRY_CONF: _conf(https).encode(),
            entry_files.CA: files.ca_certificate.read_bytes(),
            entry_files.CERTIFICATE: issued.pair.certificate,
            entry_files.KEY: issued.pair.key,
        },
    )
    serial = serial_text(issued.serial)
    try:
        renewed = entry_files.renew_listener(files.extension_certificate, authority, https.hosts())
        _audit(settings, "init entry", name, f"site {site}, certificate {serial} to {line.ends}")
        entry_files.append_line(files.entries, line.line())
    except BaseException:  # all or nothing, so that it can be asked for again
        for path in placed:
            path.unlink(missing_ok=True)
        raise
    return IssuedEntry(files=placed, serial=serial, ends=ends.date(), restart=renewed)


def revoke_entry(settings: Settings, name: str, *, but_newest: bool) -> tuple[str, ...]:
    """Serial numbers of the certificates that count no longer; none: they already did not."""
    _by_owner(settings)
    path = settings.files().entries
    ending = revocations(name, parse_entries(_entries(path)), but_newest=but_newest)
    serials = tuple(serial_text(each.serial) for each in ending)
    if ending:
        _audit(settings, "revoke entry", name, f"certificate {', '.join(serials)}")
        entry_files.append_line(path, "".join(each.line() for each in ending))
    return serials


def _listener(settings: Settings, site: str) -> EntryAddress:
    known = [each.name for each in settings.extension.sites]
    if site not in known:
        text = f"site {site} is not in extension.sites: {', '.join(known) or 'none is'}"
        raise InputError(ErrorCode.CONFIG_INVALID, text)
    if settings.extension.https is None:
        text = "extension.https is not set: nothing would take this certificate"
        raise InputError(ErrorCode.CONFIG_INVALID, text)
    return settings.extension.https


def _conf(https: EntryAddress) -> str:
    return (
        f"url = {https.url()}\n"
        f"ca = {CONF_FOLDER / entry_files.CA}\n"
        f"certificate = {CONF_FOLDER / entry_files.CERTIFICATE}\n"
        f"key = {CONF_FOLDER / entry_files.KEY}\n"
    )


def _entries(path: Path) -> str:
    text = path.read_text() if path.exists() else ""
    parse_entries(text)
    return text


def _by_owner(settings: Settings) -> None:
    folder = settings.service.state_dir
    try:
        owner = folder.stat().st_uid
    except OSError as error:
        text = f"{folder}: {error.strerror}; `rackwright init` comes first"
        raise InputError(ErrorCode.FILE_UNREADABLE, text) from error
    if owner != os.geteuid():
        text = f"{folder} belongs to uid {owner}: run this as that user, with runuser -u"
        raise InputError(ErrorCode.PERMISSION, text)


def _audit(settings: Settings, act: str, subject: str, detail: str) -> None:
    uid = os.getuid()
    names = {each.uid: f"operator {each.name} " for each in settings.operators.uids}
    who = f"{names.get(uid, '')}(uid {uid}, command)".strip()
    entry = AuditEntry(at=SystemClock().wall(), who=who, act=act, subject=subject, detail=detail)
    audit_beside(settings.files().database, entry)
