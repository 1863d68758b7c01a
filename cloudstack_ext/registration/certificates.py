"""Certificates in use on a management server: read there, and how long each is still good.

The entry's own and its authority's lie there as files; the service's is the one that it shows to
whoever connects from there.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Final

from cloudstack_ext.registration.entry_files import CONFIGURATION, SETTINGS
from cloudstack_ext.registration.verify import (
    AUTHORITY,
    CLIENT_CERTIFICATE,
    SERVICE_CERTIFICATE,
    Check,
    Outcome,
)
from cloudstack_ext.registration.wanted import ServerWanted
from provisioner.errors import RackwrightError
from provisioner.ports.shell import Shell
from provisioner.units import Seconds, WallSeconds

WARNED_BEFORE_S: Final = 30 * 86400.0
"""Time to issue another one and to place it on every server, with a holiday in between."""
ASKED_WITHIN_S: Final = Seconds(30.0)
INTERPRETER: Final = "/usr/bin/python3"
"""The entry's own."""
SHOWN: Final = """\
import socket, ssl, sys, urllib.parse
url = urllib.parse.urlsplit(sys.argv[1])
context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
context.check_hostname = False
context.verify_mode = ssl.CERT_NONE
context.load_cert_chain(sys.argv[2], sys.argv[3])
with socket.create_connection((url.hostname, url.port or 443), 10) as plain:
    with context.wrap_socket(plain, server_hostname=url.hostname) as made:
        print(ssl.DER_cert_to_PEM_cert(made.getpeercert(True)))
"""
"""Shows the certificate of the other end, believed or not: an expired one is to be seen too."""
RENEW_ENTRY: Final = "issue another one (`rackwright init entry`) and place it (`install-entry`)"
RENEW_SERVICE: Final = "move its file away, `rackwright init entry` makes another; start anew"
RENEW_AUTHORITY: Final = "the site needs a new authority, and every entry new files"

CertificateEnds = Callable[[bytes], WallSeconds]
"""Of a certificate in PEM.

Raises:
    InputError: FILE_UNREADABLE: it is none.
"""


def end_of(name: str, about: str, ends: WallSeconds, *, now: WallSeconds, remedy: str) -> Check:
    """Bad once it has passed, a warning from 30 days before on. Pure."""
    left_s, day = ends - now, datetime.fromtimestamp(ends, UTC).strftime("%Y-%m-%d %H:%M UTC")
    outcome = Outcome.OK
    text = f"is good until {day}"
    if left_s <= 0:
        outcome, text = Outcome.BAD, f"has ended at {day}: {remedy}"
    elif left_s < WARNED_BEFORE_S:
        outcome, text = Outcome.WARNING, f"ends at {day}, in {left_s / 86400:.0f} days: {remedy}"
    return Check(name=name, about=about, outcome=outcome, text=text)


async def look_at_certificates(
    shell: Shell, server: ServerWanted, about: str, ends: CertificateEnds, now: WallSeconds
) -> tuple[Check, ...]:
    """The three of one server; none where its entry reaches the service through a socket.

    What cannot be read is unknown, each for itself.
    """
    seen = await shell.read(SETTINGS / CONFIGURATION)
    values = _values(seen.content if seen else b"")
    if "url" not in values:
        return ()
    look = _Look(shell=shell, server=server, about=about, ends=ends, now=now)
    return (
        await look.file(CLIENT_CERTIFICATE, values.get("certificate", ""), RENEW_ENTRY),
        await look.file(AUTHORITY, values.get("ca", ""), RENEW_AUTHORITY),
        await look.shown(values),
    )


def _values(content: bytes) -> dict[str, str]:
    """Of the entry's configuration: `key = value` lines."""
    pairs = (line.partition("=") for line in content.decode("utf-8", "replace").splitlines())
    return {name.strip(): value.strip() for name, sign, value in pairs if sign}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    shell: Shell
    server: ServerWanted
    about: str
    ends: CertificateEnds
    now: WallSeconds

    async def file(self, name: str, path: str, remedy: str) -> Check:
        try:
            seen = await self.shell.read(PurePosixPath(path)) if path else None
        except RackwrightError as error:
            return self._unknown(name, f"could not be read: {error.brief}")
        if seen is None:
            return self._unknown(name, f"{path or 'nothing'} is not there")
        return self._judged(name, seen.content, remedy)

    async def shown(self, values: dict[str, str]) -> Check:
        """As CloudStack's user, who alone may read the key."""
        as_user = ["runuser", "-u", self.server.owner, "--"] if self.server.user == "root" else []
        given = [values["url"], values.get("certificate", ""), values.get("key", "")]
        words = [*as_user, INTERPRETER, "-I", "-c", SHOWN, *given]
        try:
            result = await self.shell.run(words, within=ASKED_WITHIN_S)
        except RackwrightError as error:
            return self._unknown(SERVICE_CERTIFICATE, f"could not be asked for: {error.brief}")
        if result.status != 0:
            said = result.errors.decode("utf-8", "replace").strip().splitlines()[-1:]
            text = f"{values['url']} shows none: {said[0][:200] if said else 'no word'}"
            return self._unknown(SERVICE_CERTIFICATE, text)
        return self._judged(SERVICE_CERTIFICATE, result.output, RENEW_SERVICE)

    def _judged(self, name: str, pem: bytes, remedy: str) -> Check:
        try:
            ends = self.ends(pem)
        except RackwrightError as error:
            return self._unknown(name, f"could not be read: {error.brief}")
        return end_of(name, self.about, ends, now=self.now, remedy=remedy)

    def _unknown(self, name: str, text: str) -> Check:
        return Check(name=name, about=self.about, outcome=Outcome.UNKNOWN, text=text)
