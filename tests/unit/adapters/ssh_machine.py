"""A machine that answers SSH in this process: one key, its own files, on to others."""

import contextlib
import os
import socket
import subprocess
import threading
from pathlib import Path

import paramiko
from paramiko.ed25519key import Ed25519Key


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
        self.user, self.instead = "root", ""
        self.noted, self.full, self.jumps, self.transports = [], False, [], []
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
            self.transports.append(transport)
            transport.add_server_key(self.host_key)
            transport.set_subsystem_handler("sftp", paramiko.SFTPServer, Files)
            try:
                transport.start_server(server=self)
            except (EOFError, OSError, paramiko.SSHException):
                transport.close()

    def get_allowed_auths(self, _user):
        return "publickey"

    def check_auth_publickey(self, user, key):
        good = user == self.user and key.get_base64() == self.accepted
        return paramiko.AUTH_SUCCESSFUL if good else paramiko.AUTH_FAILED

    def check_channel_request(self, _kind, _number):
        return paramiko.OPEN_SUCCEEDED

    def check_channel_direct_tcpip_request(self, number, _origin, destination):
        """On to another machine, as a jump host does."""
        self.jumps.append(destination)
        threading.Thread(target=self._forward, args=(number, destination), daemon=True).start()
        return paramiko.OPEN_SUCCEEDED

    def _forward(self, number, destination):
        channel = None
        while channel is None or channel.get_id() != number:
            channel = self.transports[-1].accept(5)
        other = socket.create_connection(destination)

        def back():
            with contextlib.suppress(OSError):
                while piece := other.recv(65536):
                    channel.sendall(piece)
            channel.close()

        threading.Thread(target=back, daemon=True).start()
        with contextlib.suppress(OSError):
            while piece := channel.recv(65536):
                other.sendall(piece)
        other.close()

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
        line = self.instead or line
        done = subprocess.run(line, shell=True, input=given, capture_output=True, check=False)
        channel.sendall(done.stdout)
        channel.sendall_stderr(done.stderr)
        channel.send_exit_status(done.returncode)
        channel.close()


def make_keys(folder):
    """Name -> private key file, its public half beside it."""
    made = {}
    for name in ("host", "other", "user", "stranger"):
        words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(words, check=True)
        made[name] = folder / name
    return made


def public(path):
    """Type and key, as known_hosts has them."""
    return " ".join(path.with_suffix(".pub").read_text().split()[:2])


def fingerprint(path):
    """As OpenSSH says it."""
    words = ["ssh-keygen", "-lf", str(path.with_suffix(".pub"))]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()[1]


def start(keys, host="host"):
    """A machine with this host key; it accepts the key `user` for root."""
    key = Ed25519Key.from_private_key_file(str(keys[host]))
    return Machine(key, public(keys["user"]).split()[1])
