"""SSH by paramiko, and its only importer: a pinned host key, one key of ours, nothing else.

Neither known_hosts, nor an agent, nor a configuration file is looked at. The library blocks: each
connection has a thread of its own.
"""

import asyncio
import contextlib
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
MOST_BYTES: Final = 4 * 1024 * 1024
_RSA: Final = ("rsa-sha2-512", "rsa-sha2-256")
"""How a host proves that it has a key of type ssh-rsa; SHA-1 is refused."""


@contextlib.asynccontextmanager
async def open_shell(address: ShellAddress) -> AsyncIterator[Shell]:
    """ports.OpenShell."""
    thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ssh")
    loop = asyncio.get_running_loop()
    try:
        transport = await loop.run_in_executor(thread, _connected, address)
        try:
            yield SshShell(transport, thread, address.host)
        finally:
            await loop.run_in_executor(thread, transport.close)
    finally:
        thread.shutdown(wait=False, cancel_futures=True)


class SshShell:
    """Implements ports.Shell over one connection."""

    def __init__(
        self, transport: paramiko.Transport, thread: ThreadPoolExecutor, host: str
    ) -> None:
        self._transport, self._thread, self._host = transport, thread, host

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


def _connected(address: ShellAddress) -> paramiko.Transport:
    kind = address.host_key.partition(" ")[0]
    key = _own_key(address.key_file)
    with _meaning(address.host):
        plain = socket.create_connection((address.host, address.port), timeout=CONNECT_S)
        transport = paramiko.Transport(plain)
        transport.get_security_options().key_types = _RSA if kind == "ssh-rsa" else (kind,)
        try:
            transport.start_client(timeout=CONNECT_S)
            _expect(address, transport.get_remote_server_key())
            transport.auth_publickey(address.user, key)
        except BaseException:
            transport.close()
            raise
        return transport


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
    if f"{shown.get_name()} {shown.get_base64()}" != address.host_key:
        raise _other_machine(address.host)


def _other_machine(host: str) -> OperatorError:
    return OperatorError(
        ErrorCode.SSH_HOST_KEY, f"{host} shows another host key than the pinned one"
    )


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
