"""SSH against a server on a real socket: who is there, what runs, files that are whole or old."""

import asyncio
import os
import shlex
import socket
import subprocess
import threading
from dataclasses import replace
from pathlib import PurePosixPath

import pytest

from provisioner.adapters.ssh import open_shell
from provisioner.errors import ErrorCode, OperatorError, TransientError
from provisioner.hosts.bundle import read_bundle
from provisioner.hosts.facts import Way
from provisioner.hosts.model import SshAccess, SshHop
from provisioner.hosts.reading import read_facts
from provisioner.operations.host_gather import SshGather
from provisioner.ports.shell import ShellAddress
from provisioner.units import Seconds
from tests.unit.adapters.ssh_machine import fingerprint, make_keys, public, start

pytestmark = pytest.mark.emulated
WITHIN = Seconds(10.0)


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    return make_keys(tmp_path_factory.mktemp("keys"))


@pytest.fixture
def machine(keys):
    made = start(keys)
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


# --- how GPU hosts are reached --------------------------------------------------------------
def test_a_fingerprint_is_a_pin_and_the_whole_key_is_told(machine, keys):
    where = replace(address(machine, keys), host_key=fingerprint(keys["host"]))

    async def shown(shell):
        return shell.host_key

    assert within(where, shown) == public(keys["host"])


@pytest.mark.parametrize("pinned", ["", "SHA256:" + "A" * 43])
def test_without_the_right_fingerprint_the_shown_one_is_told_and_nothing_runs(
    machine, keys, pinned
):
    where = replace(address(machine, keys), host_key=pinned)
    with pytest.raises(OperatorError) as caught:
        within(where, lambda shell: shell.run(["id"], within=WITHIN))
    assert caught.value.code is ErrorCode.SSH_HOST_KEY
    assert f"ssh-ed25519 {fingerprint(keys['host'])}" in caught.value.brief
    assert machine.lines == []


@pytest.fixture
def jump(keys):
    made = start(keys, host="other")
    yield made
    made.listener.close()


def through(machine, jump, keys, *, pinned="other"):
    hop = replace(address(jump, keys), host_key=public(keys[pinned]))
    return replace(address(machine, keys), jump=hop)


def test_through_another_machine_each_shows_its_own_key(machine, jump, keys):
    where = through(machine, jump, keys)
    done = within(where, lambda shell: shell.run(["echo", "here"], within=WITHIN))
    assert done.output == b"here\n"
    assert jump.jumps == [("127.0.0.1", machine.port)]
    assert (jump.lines, machine.lines) == ([], ["echo here"])


def test_a_jump_host_with_another_key_leads_nowhere(machine, jump, keys):
    with pytest.raises(OperatorError) as caught:
        within(
            through(machine, jump, keys, pinned="stranger"),
            lambda shell: shell.run(["id"], within=WITHIN),
        )
    assert caught.value.code is ErrorCode.SSH_HOST_KEY
    assert jump.jumps == machine.lines == []


@pytest.fixture
def agent(keys, tmp_path, monkeypatch):
    """An SSH agent with two keys, of which the second one is accepted."""
    path = tmp_path / "agent"
    running = subprocess.Popen(["ssh-agent", "-D", "-a", str(path)], stdout=subprocess.DEVNULL)
    while not path.exists():
        assert running.poll() is None
    monkeypatch.setenv("SSH_AUTH_SOCK", str(path))
    for name in ("stranger", "user"):
        subprocess.run(["ssh-add", "-q", str(keys[name])], check=True)
    yield path
    running.terminate()
    running.wait()


def test_the_keys_of_an_agent_are_tried_one_after_the_other(machine, keys, agent):
    where = replace(address(machine, keys), key_file=None)
    done = within(where, lambda shell: shell.run(["echo", "in"], within=WITHIN))
    assert done.output == b"in\n"


def test_without_a_key_file_and_an_agent_it_is_said(machine, keys, monkeypatch):
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    with pytest.raises(OperatorError) as caught:
        within(
            replace(address(machine, keys), key_file=None),
            lambda shell: shell.run(["id"], within=WITHIN),
        )
    assert caught.value.code is ErrorCode.SSH_KEY


def access(machine, keys, **fields):
    target = SshHop(host="127.0.0.1", port=machine.port, host_key=fingerprint(keys["host"]))
    return SshAccess(target=replace(target, **fields), key_file=keys["user"])


def test_a_hosts_texts_come_in_one_connection_by_one_command(machine, keys):
    gather = SshGather(open_shell)
    content, key = asyncio.run(gather(access(machine, keys)))
    assert machine.lines == ["sh -s"]
    assert len(machine.transports) == 1
    assert key == public(keys["host"])
    facts = read_facts(read_bundle(content, source="host"), way=Way.SSH)
    assert facts.problems == ()
    assert facts.boot.kernel


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ("sudo: a password is required", ErrorCode.SSH_SUDO),
        ("sh: not found", ErrorCode.SSH_FAILED),
    ],
)
def test_what_a_host_refuses_is_one_line(machine, keys, answer, code, monkeypatch):
    monkeypatch.setattr(machine, "instead", f"echo '{answer}' >&2; exit 1")
    with pytest.raises(OperatorError) as caught:
        asyncio.run(SshGather(open_shell)(access(machine, keys)))
    assert caught.value.code is code
    assert answer in caught.value.brief


def test_another_user_than_root_asks_sudo_which_never_asks_back(machine, keys, monkeypatch):
    monkeypatch.setattr(machine, "user", "ops")
    monkeypatch.setattr(machine, "instead", "printf '\\037\\213x'")
    content, _ = asyncio.run(SshGather(open_shell)(access(machine, keys, user="ops")))
    assert content == b"\x1f\x8bx"
    assert machine.lines == ["sudo -n sh -s"]
