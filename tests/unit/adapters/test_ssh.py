"""SSH against a server on a real socket: who is there, what runs, files that are whole or old."""

import asyncio
import os
import shlex
import socket
import subprocess
import threading
from pathlib import Path, PurePosixPath

import paramiko
import pytest
from paramiko.ed25519key import Ed25519Key

from provisioner.adapters.ssh import open_shell
from provisioner.errors import ErrorCode, OperatorError, TransientError
from provisioner.ports.shell import ShellAddress
from provisioner.units import Seconds

pytestmark = pytest.mark.emulated
WITHIN = Seconds(10.0)


class Files(paramiko.SFTPServerInterface):
    """The machine's own files, as a server of this kind gives them."""

    def __init__(self, server, *more, **named):
        super().__init__(server, *more, **named)
        self.server = server

    def _answer(self, act):
        try:
            return act()
        except OSError as error:
            return paramiko.SFTPServer.convert_errno(error.errno)

    def stat(self, path):
        return self._answer(lambda: paramiko.SFTPAttributes.from_stat(Path(path).stat()))

    def open(self, path, flags, attributes):
        def opened():
            handle = paramiko.SFTPHandle(flags)
            mode = "wb" if flags & os.O_WRONLY else "rb"
            descriptor = os.open(path, flags, 0o666)
            file = os.fdopen(descriptor, mode)
            handle.readfile = handle.writefile = file
            handle.stat = lambda: paramiko.SFTPAttributes.from_stat(os.fstat(file.fileno()))
            handle.chattr = lambda new: self.chattr(path, new)
            return handle

        return self._answer(opened)

    def chattr(self, path, attributes):
        def changed():
            self.server.noted.append((path, attributes.st_mode, Path(path).stat().st_size))
            if self.server.full:
                raise OSError(28, "No space left on device")
            if attributes.st_mode is not None:
                Path(path).chmod(attributes.st_mode)
            return paramiko.SFTP_OK

        return self._answer(changed)

    def posix_rename(self, old, new):
        return self._answer(lambda: Path(old).replace(new) and paramiko.SFTP_OK)

    def remove(self, path):
        return self._answer(lambda: Path(path).unlink() or paramiko.SFTP_OK)


class Machine(paramiko.ServerInterface):
    """One SSH server that accepts one key and runs what it is told."""

    def __init__(self, host_key, accepted):
        self.host_key, self.accepted, self.lines = host_key, accepted, []
        self.noted, self.full = [], False
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            transport = paramiko.Transport(connection)
            transport.add_server_key(self.host_key)
            transport.set_subsystem_handler("sftp", paramiko.SFTPServer, Files)
            try:
                transport.start_server(server=self)
            except (EOFError, OSError, paramiko.SSHException):
                transport.close()

    def get_allowed_auths(self, _user):
        return "publickey"

    def check_auth_publickey(self, user, key):
        good = user == "root" and key.get_base64() == self.accepted
        return paramiko.AUTH_SUCCESSFUL if good else paramiko.AUTH_FAILED

    def check_channel_request(self, _kind, _number):
        return paramiko.OPEN_SUCCEEDED

    def check_channel_exec_request(self, channel, command):
        self.lines.append(command.decode())
        threading.Thread(target=self._run, args=(channel, command.decode()), daemon=True).start()
        return True

    def _run(self, channel, line):
        given = b""
        while piece := channel.recv(65536):
            given += piece
        if line.startswith("sleep"):
            return
        done = subprocess.run(line, shell=True, input=given, capture_output=True, check=False)
        channel.sendall(done.stdout)
        channel.sendall_stderr(done.stderr)
        channel.send_exit_status(done.returncode)
        channel.close()


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keys")
    made = {}
    for name in ("host", "other", "user", "stranger"):
        words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(words, check=True)
        made[name] = folder / name
    return made


def public(path):
    return " ".join(path.with_suffix(".pub").read_text().split()[:2])


@pytest.fixture
def machine(keys):
    made = Machine(
        Ed25519Key.from_private_key_file(str(keys["host"])), public(keys["user"]).split()[1]
    )
    yield made
    made.listener.close()


def address(machine, keys, *, host="host", user="user", name="root", port=None):
    return ShellAddress(
        host="127.0.0.1",
        port=port or machine.port,
        user=name,
        host_key=public(keys[host]),
        key_file=keys[user],
    )


def _hang_up(listener):
    connection, _ = listener.accept()
    connection.close()


def within(where, work):
    async def opened():
        async with open_shell(where) as shell:
            return await work(shell)

    return asyncio.run(opened())


def test_a_command_has_its_words_input_output_and_status(machine, keys):
    words = ["sh", "-c", "cat; echo $1 >&2; exit 3", "sh", "a b; 'c' $HOME"]
    where = address(machine, keys)
    done = within(where, lambda shell: shell.run(words, stdin=b"given\n", within=WITHIN))
    assert (done.status, done.output, done.errors) == (3, b"given\n", b"a b; 'c' $HOME\n")
    assert machine.lines == [shlex.join(words)]


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"host": "other"}, ErrorCode.SSH_HOST_KEY),
        ({"user": "stranger"}, ErrorCode.SSH_KEY),
        ({"name": "nobody"}, ErrorCode.SSH_KEY),
    ],
)
def test_another_machine_or_a_key_that_is_not_accepted_ends_before_anything_runs(
    machine, keys, wrong, code
):
    with pytest.raises(OperatorError) as caught:
        within(address(machine, keys, **wrong), lambda shell: shell.run(["id"], within=WITHIN))
    assert caught.value.code is code
    assert machine.lines == []


def test_where_nothing_listens_it_is_unreachable(machine, keys):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(TransientError) as caught:
        within(address(machine, keys, port=port), lambda shell: shell.run(["id"], within=WITHIN))
    assert caught.value.code is ErrorCode.SSH_UNREACHABLE


def test_what_listens_and_is_no_ssh_is_unreachable(machine, keys):
    with socket.create_server(("127.0.0.1", 0)) as other:
        thread = threading.Thread(target=_hang_up, args=(other,), daemon=True)
        thread.start()
        where = address(machine, keys, port=other.getsockname()[1])
        with pytest.raises(TransientError) as caught:
            within(where, lambda shell: shell.run(["id"], within=WITHIN))
    assert caught.value.code is ErrorCode.SSH_UNREACHABLE


def test_a_command_that_does_not_end_is_given_up(machine, keys):
    where = address(machine, keys)
    with pytest.raises(TransientError) as caught:
        within(where, lambda shell: shell.run(["sleep", "9"], within=Seconds(0.3)))
    assert caught.value.code is ErrorCode.SSH_UNREACHABLE


def test_a_file_is_read_with_owner_and_mode_and_one_that_is_not_there_is_none(
    machine, keys, tmp_path
):
    path = tmp_path / "f"
    path.write_bytes(b"x" * 100_000)
    path.chmod(0o640)

    async def both(shell):
        missing = await shell.read(PurePosixPath(tmp_path / "none"))
        return missing, await shell.read(PurePosixPath(path))

    missing, seen = within(address(machine, keys), both)
    assert missing is None
    assert (seen.content, seen.owner, seen.mode) == (b"x" * 100_000, os.getuid(), 0o640)


def test_a_folder_is_no_file(machine, keys, tmp_path):
    with pytest.raises(OperatorError, match="no regular file"):
        within(address(machine, keys), lambda shell: shell.read(PurePosixPath(tmp_path)))


def test_a_file_is_put_beside_and_renamed_and_never_readable_by_others_on_the_way(
    machine, keys, tmp_path
):
    path = tmp_path / "secret"
    path.write_bytes(b"old")
    inode = path.stat().st_ino
    where = address(machine, keys)
    owner = os.getuid()
    within(
        where,
        lambda shell: shell.put(PurePosixPath(path), b"new", mode=0o600, owner=owner),
    )
    assert path.read_bytes() == b"new"
    assert path.stat().st_ino != inode
    assert [each.name for each in tmp_path.iterdir()] == ["secret"]
    first = machine.noted[0]
    assert first[1:] == (0o600, 0), "shut before there is anything in it"
    assert any(line.startswith("sync ") for line in machine.lines)


def test_a_put_that_fails_leaves_the_old_file_and_nothing_beside(machine, keys, tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"old")
    machine.full = True
    with pytest.raises(OperatorError) as caught:
        within(
            address(machine, keys),
            lambda shell: shell.put(PurePosixPath(path), b"new", mode=0o600, owner=0),
        )
    assert caught.value.code is ErrorCode.SSH_FAILED
    assert path.read_bytes() == b"old"
    assert [each.name for each in tmp_path.iterdir()] == ["f"]


def test_a_key_with_a_passphrase_is_refused_and_nobody_asked(machine, keys, tmp_path):
    path = tmp_path / "locked"
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "words", "-f", str(path)], check=True
    )
    where = ShellAddress(
        host="127.0.0.1",
        port=machine.port,
        user="root",
        host_key=public(keys["host"]),
        key_file=path,
    )
    with pytest.raises(OperatorError) as caught:
        within(where, lambda shell: shell.run(["id"], within=WITHIN))
    assert caught.value.code is ErrorCode.SSH_KEY
