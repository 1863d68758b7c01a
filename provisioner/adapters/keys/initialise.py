"""Make all keys of an installation once; `rackwright init`."""

import os
import secrets
import shutil
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from provisioner.adapters.keys.authority import Authority
from provisioner.adapters.keys.evidence_key import EvidenceKey
from provisioner.adapters.keys.secret_box import KEY_BYTES, secret_keys_line
from provisioner.errors import ConflictError, ErrorCode, OperatorError

SECRETS_KEY = "secrets.key"
EVIDENCE_KEY = "evidence.key"
EVIDENCE_PUBLIC = "evidence.pub"
CA = "ca.pem"
CA_KEY = "ca.key"
SERVER = "server.pem"
SERVER_KEY = "server.key"
PUBLIC = frozenset({EVIDENCE_PUBLIC, CA, SERVER})


def initialise(
    folder: Path, *, site: str, addresses: Sequence[str], others: Mapping[str, bytes]
) -> tuple[Path, ...]:
    """Make every key and certificate, or nothing at all.

    Args:
        folder: The state folder; made where it is not there.
        site: Stands in the CA's name.
        addresses: Of the service on the provisioning network; for its certificate.
        others: More private files by name that belong to the same beginning: tokens.

    Raises:
        ConflictError: ALREADY_INITIALISED: one of the files is there; nothing was changed.
        OperatorError: FILE_UNREADABLE: the folder cannot be written; nothing is left.
    """
    content = {**_make(site, addresses), **others}
    there = [name for name in content if (folder / name).exists()]
    if there:
        text = (
            f"{folder} holds {', '.join(sorted(there))}; nothing is ever overwritten: "
            "`rackwright serve` starts what is there, a new installation needs another state_dir"
        )
        raise ConflictError(ErrorCode.ALREADY_INITIALISED, text)
    if folder.exists() and not folder.is_dir():
        text = f"{folder}: a file, where a folder is wanted: name another state_dir"
        raise OperatorError(ErrorCode.FILE_UNREADABLE, text)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return place_all(folder, content, public=PUBLIC)
    except FileExistsError as error:
        text = f"{error.filename2}: made by someone else just now"
        raise ConflictError(ErrorCode.ALREADY_INITIALISED, text) from error
    except OSError as error:
        raise OperatorError(ErrorCode.FILE_UNREADABLE, f"{folder}: {error.strerror}") from error


def _make(site: str, addresses: Sequence[str]) -> dict[str, bytes]:
    evidence = Ed25519PrivateKey.generate()
    authority = Authority.new(site)
    server = authority.issue_server(addresses)
    return {
        SECRETS_KEY: secret_keys_line(secrets.token_bytes(KEY_BYTES)).encode(),
        EVIDENCE_KEY: evidence.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
        EVIDENCE_PUBLIC: EvidenceKey(evidence).public_pem(),
        CA: authority.own().certificate,
        CA_KEY: authority.own().key,
        SERVER: server.certificate,
        SERVER_KEY: server.key,
    }


def place_all(
    folder: Path, content: Mapping[str, bytes], *, public: Collection[str]
) -> tuple[Path, ...]:
    """Write aside, then link into place one by one; on any failure take back what was linked.

    Args:
        folder: It is there.
        content: Bytes by file name.
        public: Names of files that others may read.

    Raises:
        FileExistsError: One is there; nothing was changed.
        OSError: Nothing is left.
    """
    aside = folder / f".init-{secrets.token_hex(8)}"
    aside.mkdir(mode=0o700)
    placed: list[Path] = []
    try:
        for name, body in content.items():
            write_synced(aside / name, body, 0o644 if name in public else 0o600)
        for name in content:
            # a link, unlike a rename, refuses to replace
            os.link(aside / name, folder / name)
            placed.append(folder / name)
        _sync_folder(folder)
    except OSError:
        for path in placed:
            path.unlink(missing_ok=True)
        raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return tuple(placed)


def write_synced(path: Path, body: bytes, mode: int) -> None:
    """A new file, on the disk when this returns.

    Raises:
        OSError: It is there, or cannot be written.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        os.fchmod(descriptor, mode)
        view = memoryview(body)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
