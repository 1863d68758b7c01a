"""SSH by paramiko, and its only importer: a pinned host key, and a key of ours or of our agent.

Neither known_hosts nor a configuration file is looked at, and an agent only where no key file is
named. The library blocks: each connection has a thread of its own.
"""

import asyncio
import base64
import contextlib
import hashlib
import secrets
import shlex
import socket
import stat
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Final, TypeVar

import paramiko

from provisioner.errors import ErrorCode, OperatorError, RackwrightError, TransientError
from provisioner.ports.shell import SeenFile, Shell, ShellAddress, ShellResult
from provisioner.units import Seconds

T = TypeVar("T")

CONNECT_S: Final = 15.0
SYNC_S: Final = Seconds(60.0)
MOST_BYTES: Final = 8 * 1024 * 1024
_RSA: Final = ("rsa-sha2-512", "rsa-sha2-256")
"""How a host proves that it has a key of type ssh-rsa; SHA-1 is refused."""


@contextlib.asynccontextmanager
async def open_shell(address: ShellAddress) -> AsyncIterator[Shell]:
    """ports.OpenShell."""
    thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ssh")
    loop = asyncio.get_running_loop()
    try:
        transports = await loop.run_in_executor(thread, _connected, address)
        try:
            yield SshShell(transports[-1], thread, address.host)
        finally:
            await loop.run_in_executor(thread, _let_go, transports)
    finally:
        thread.shutdown(wait=False, cancel_futures=True)


class SshShell:
    """Implements ports.Shell over one connection."""

    def __init__(
        self, transport: paramiko.Transport, thread: ThreadPoolExecutor, host: str
    ) -> None:
        self._transport, self._thread, self._host = transport, thread, host

    @property
    def host_key(self) -> str:
        """Type and key that it has shown."""
        return _known_hosts_form(self._transport.get_remote_server_key())

    async def run(
        self, words: Sequence[str], *, stdin: bytes = b"", within: Seconds
    ) -> ShellResult:
        """A program with its arguments."""
        return await self._in_thread(partial(self._run, shlex.join(words), stdin, within))

    async def read(self, path: PurePosixPath) -> SeenFile | None:
        """None where there is no such file."""
        return await self._in_thread(partial(self._read, str(path)))

    async def put(self, path: PurePosixPath, content: bytes, *, mode: int, owner: int) -> None:
        """Whole, or the old one stays."""
        await self._in_thread(partial(self._put, path, content, mode, owner))

    async def _in_thread(self, act: Callable[[], T]) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._told, act)

    def _told(self, act: Callable[[], T]) -> T:
        with _meaning(self._host):
            return act()

    def _run(self, line: str, stdin: bytes, within: Seconds) -> ShellResult:
        with self._transport.open_session(timeout=CONNECT_S) as channel:
            channel.settimeout(within)
            channel.exec_command(line)
            channel.sendall(stdin)
            channel.shutdown_write()
            with channel.makefile("rb") as out, channel.makefile_stderr("rb") as err:
                output, errors = out.read(MOST_BYTES), err.read(MOST_BYTES)
            return ShellResult(status=channel.recv_exit_status(), output=output, errors=errors)

    @contextlib.contextmanager
    def _files(self) -> Iterator[paramiko.SFTPClient]:
        client = paramiko.SFTPClient.from_transport(self._transport)
        assert client is not None
        with client:
            yield client

    def _read(self, path: str) -> SeenFile | None:
        with self._files() as files:
            try:
                facts = files.stat(path)
            except FileNotFoundError:
                return None
            mode = facts.st_mode or 0
            if not stat.S_ISREG(mode) or (facts.st_size or 0) > MOST_BYTES:
                text = f"{self._host}: {path} is no regular file of at most {MOST_BYTES} bytes"
                raise OperatorError(ErrorCode.SSH_FAILED, text)
            with files.open(path, "rb") as file:
                content = file.read(MOST_BYTES)
            return SeenFile(content=content, owner=facts.st_uid or 0, mode=stat.S_IMODE(mode))

    def _put(self, path: PurePosixPath, content: bytes, mode: int, owner: int) -> None:
        beside = str(path.with_name(f".{path.name}.{secrets.token_hex(8)}"))
        with self._files() as files:
            try:
                with files.open(beside, "wx") as file:
                    file.chmod(0o600)  # before there is anything in it
                    file.write(content)
                files.chown(beside, owner, owner)
                files.chmod(beside, mode)
                self._run(shlex.join(["sync", beside]), b"", SYNC_S)
                files.posix_rename(beside, str(path))
            except BaseException:
                with contextlib.suppress(OSError):
                    files.remove(beside)
                raise


Transports = tuple[paramiko.Transport, ...]
"""One a machine on the way, the last is the wanted one's."""


def _connected(address: ShellAddress) -> Transports:
    """All that is open is closed again where one of them fails."""
    before: Transports = () if address.jump is None else _connected(address.jump)
    try:
        return (*before, _one(address, before[-1] if before else None))
    except BaseException:
        _let_go(before)
        raise


def _let_go(transports: Transports) -> None:
    for each in reversed(transports):
        each.close()


def _one(address: ShellAddress, through: paramiko.Transport | None) -> paramiko.Transport:
    with _own_keys(address) as keys, _meaning(address.host):
        transport = paramiko.Transport(_line(address, through))
        try:
            if kinds := _kinds(address.host_key):
                transport.get_security_options().key_types = kinds
            transport.start_client(timeout=CONNECT_S)
            _expect(address, transport.get_remote_server_key())
            _authenticate(transport, address.user, keys)
        except BaseException:
            transport.close()
            raise
        return transport


def _line(
    address: ShellAddress, through: paramiko.Transport | None
) -> socket.socket | paramiko.Channel:
    if through is None:
        return socket.create_connection((address.host, address.port), timeout=CONNECT_S)
    where = (address.host, address.port)
    return through.open_channel("direct-tcpip", where, ("", 0), timeout=CONNECT_S)


def _kinds(host_key: str) -> tuple[str, ...]:
    """Of the pinned key, so that the host proves that it has this one; () where it is not said."""
    kind, _, key = host_key.partition(" ")
    if not key:
        return ()
    return _RSA if kind == "ssh-rsa" else (kind,)


def _authenticate(transport: paramiko.Transport, user: str, keys: Sequence[paramiko.PKey]) -> None:
    """By the first that is accepted: an agent may have several."""
    refused: paramiko.AuthenticationException | None = None
    for key in keys:
        try:
            transport.auth_publickey(user, key)
        except paramiko.AuthenticationException as error:
            refused = error
        else:
            return
    assert refused is not None
    raise refused


@contextlib.contextmanager
def _own_keys(address: ShellAddress) -> Iterator[Sequence[paramiko.PKey]]:
    """An agent signs while it is connected."""
    if address.key_file is not None:
        yield [_own_key(address.key_file)]
        return
    with contextlib.closing(paramiko.Agent()) as agent:
        found = agent.get_keys()
        if not found:
            text = f"{address.host}: no key file is named, and the service has no agent with a key"
            raise OperatorError(ErrorCode.SSH_KEY, text)
        yield found


def _own_key(path: Path) -> paramiko.PKey:
    try:
        return paramiko.PKey.from_path(path)
    except OSError as error:
        text = f"{path}: {error.strerror}"
        raise OperatorError(ErrorCode.SSH_KEY, text) from error
    except (paramiko.SSHException, ValueError, TypeError) as error:
        # the libraries below tell of a passphrase by a TypeError
        text = f"{path}: no private key without a passphrase"
        raise OperatorError(ErrorCode.SSH_KEY, text, str(error)) from error


def _expect(address: ShellAddress, shown: paramiko.PKey) -> None:
    seen = f"{shown.get_name()} {_fingerprint(shown)}"
    if not address.host_key:
        text = f"{address.host} shows {seen}: compare it on the machine, then name it"
        raise OperatorError(ErrorCode.SSH_HOST_KEY, text)
    if address.host_key not in {_known_hosts_form(shown), _fingerprint(shown)}:
        raise _other_machine(address.host, seen)


def _known_hosts_form(key: paramiko.PKey) -> str:
    return f"{key.get_name()} {key.get_base64()}"


def _fingerprint(key: paramiko.PKey) -> str:
    """As OpenSSH shows it."""
    digest = hashlib.sha256(key.asbytes()).digest()
    return f"SHA256:{base64.b64encode(digest).decode().rstrip('=')}"


def _other_machine(host: str, seen: str = "") -> OperatorError:
    text = f"{host} shows another host key than the pinned one"
    return OperatorError(ErrorCode.SSH_HOST_KEY, f"{text}: {seen}" if seen else text)


@contextlib.contextmanager
def _meaning(host: str) -> Iterator[None]:
    """What the library raises, as errors of ours."""
    try:
        yield
    except RackwrightError:
        raise
    except paramiko.AuthenticationException as error:
        text = f"{host} does not accept our key"
        raise OperatorError(ErrorCode.SSH_KEY, text, str(error)) from error
    except paramiko.ssh_exception.IncompatiblePeer as error:
        # it has no key of the pinned type
        raise _other_machine(host) from error
    except (TimeoutError, EOFError, ConnectionError, socket.gaierror) as error:
        text = f"{host} does not answer over SSH: {str(error) or type(error).__name__}"
        raise TransientError(ErrorCode.SSH_UNREACHABLE, text) from error
    except OSError as error:
        text = f"{host}: {error.strerror or error}"
        raise OperatorError(ErrorCode.SSH_FAILED, text) from error
    except (paramiko.SSHException, ValueError) as error:
        text = f"{host}: {str(error) or type(error).__name__}"
        raise TransientError(ErrorCode.SSH_UNREACHABLE, text) from error
