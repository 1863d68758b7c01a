"""What the command line is given by the composition root: it names no adapter itself.

Each callable imports what it needs when it is called, so that `rackwright --help` is quick.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import click

    from provisioner.config import Role, Settings
    from provisioner.ports.catalogue import ImageRecord
    from provisioner.secret import Secret

Say = Callable[[str], None]
"""Takes one line of progress."""
Report = Callable[[str, int, int], None]
"""Takes what is done now, bytes done and bytes in all (0: not known); from any thread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Initialised:
    """What `rackwright init` made.

    Attributes:
        token: The first operator's, an admin; shown once.
    """

    files: tuple[Path, ...]
    token: "Secret"


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuedEntry:
    """What `rackwright init entry` made.

    Attributes:
        serial: Of the certificate, as OpenSSL shows it.
        ends: Its last day.
        restart: The listener's certificate was made too: a service that runs has still the old.
    """

    files: tuple[Path, ...]
    serial: str
    ends: date
    restart: bool


class RevokeEntry(Protocol):
    """Ends an entry's certificates."""

    def __call__(self, settings: "Settings", name: str, *, but_newest: bool) -> tuple[str, ...]:
        """Serial numbers of those that count no longer; none: they already did not."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceCallbacks:
    """The service itself.

    Attributes:
        serve: Runs until SIGTERM or SIGINT; raises RackwrightError where it cannot start.
        initialise: Makes keys, certificates, marker and first token; refuses to overwrite.
        add_token: Makes an operator's token and appends its line to the file of tokens.
        issue_entry: Settings, name, site, folder, days: makes the files of a management server.
        revoke_entry: Ends its certificates.
    """

    serve: "Callable[[Settings], None]"
    initialise: "Callable[[Settings], Initialised]"
    add_token: "Callable[[Settings, str, Role], Secret]"
    issue_entry: "Callable[[Settings, str, str, Path, int], IssuedEntry]"
    revoke_entry: RevokeEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageCallbacks:
    """Images, made on this machine.

    Attributes:
        import_image: Settings, source file, name, progress: converts into blobs_dir.
        remove_image: Settings, folder of an image that is out of use: deletes its files.
        build_image: What to build ("tiny", "debian-12"), the raw file to make, cache, progress.
        buildable: Names that `build_image` takes.
    """

    import_image: "Callable[[Settings, Path, str, Report], ImageRecord]"
    remove_image: "Callable[[Settings, Path], None]"
    build_image: Callable[[str, Path, Path, Say], None]
    buildable: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyCallbacks:
    """Public keys and signatures, for verifying evidence offline."""

    read_public_key: Callable[[bytes], bytes]
    verify_signature: Callable[[bytes, bytes, str], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiServerCallbacks:
    """The API server of the lab.

    Attributes:
        up: Number of the call to cut or None, "before" or "after": where it is, with its key.
        status: The same with `running`.
    """

    up: Callable[[int | None, str], Mapping[str, Any]]
    down: Callable[[], None]
    status: Callable[[], Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabCallbacks:
    """The virtual rack.

    Attributes:
        up: Leaves rack and service running; safe to repeat.
        down: Leaves nothing running; safe to repeat.
        status: The versioned document that docs/labs.md describes.
        payload: Verb, instance, image, public key file, user data file: what the demo would
            send; None where nothing is said.
        api_server: None: this lab has none.
    """

    up: Callable[[Say], None]
    down: Callable[[Say], None]
    status: Callable[[], Mapping[str, Any]]
    payload: Callable[[str, str, str | None, Path | None, Path | None], str]
    api_server: ApiServerCallbacks | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Callbacks:
    """All of it.

    Attributes:
        now: Seconds since 1970.
        lab: None where the installation has no virtual rack: then its commands are not there.
        more: Commands of other packages, which know what this one does not.
    """

    now: Callable[[], float]
    service: ServiceCallbacks
    images: ImageCallbacks
    keys: KeyCallbacks
    lab: LabCallbacks | None = None
    more: "tuple[click.Command, ...]" = ()
