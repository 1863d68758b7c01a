"""LocalProcesses against real processes: what it starts, it ends."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from provisioner.adapters.process import LocalProcesses
from provisioner.ports.processes import GIVEN_FILE

pytestmark = pytest.mark.emulated


def run(*argv, limit=10.0, **more):
    return asyncio.run(LocalProcesses().run(argv, limit=limit, **more))


def alive(pid):
    try:
        return Path(f"/proc/{int(pid)}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def until(happened, limit=5.0):
    end = time.monotonic() + limit
    while not happened() and time.monotonic() < end:
        time.sleep(0.02)
    return happened()


def test_status_and_both_outputs_are_values():
    ended = run("sh", "-c", "echo out; echo err >&2; exit 3")
    assert (ended.status, ended.output, ended.error) == (3, b"out\n", b"err\n")


def test_what_is_given_is_read_from_standard_input_and_by_its_path():
    assert run("cat", given=b"secret").output == b"secret"
    assert run("cat", "/dev/stdin", given=b"secret").output == b"secret"


def test_the_environment_of_the_service_is_not_handed_on(monkeypatch):
    monkeypatch.setenv("RACKWRIGHT_SECRET", "x")
    names = {line.partition(b"=")[0] for line in run("env").output.splitlines()}
    assert names == {b"PATH", b"LANG"}
    assert b"EXTRA=1" in run("env", environ={"EXTRA": "1"}).output


def test_a_program_that_is_not_there_ends_with_a_status():
    ended = run("no-such-program")
    assert ended.status == 127
    assert b"no-such-program" in ended.error


def test_at_the_limit_the_whole_group_is_gone(tmp_path):
    pids = tmp_path / "pids"
    script = f"sleep 60 & echo $! >{pids}; echo $$ >>{pids}; wait"
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        run("sh", "-c", script, limit=0.5)
    assert time.monotonic() - began < 3.0
    assert until(lambda: not [pid for pid in pids.read_text().split() if alive(pid)])


def test_a_child_left_in_the_background_ends_with_its_parent(tmp_path):
    pids = tmp_path / "pids"
    run("sh", "-c", f"sleep 60 >/dev/null 2>&1 & echo $! >{pids}")
    assert until(lambda: not alive(pids.read_text().strip()))


def test_endless_output_fills_no_memory(monkeypatch):
    monkeypatch.setattr("provisioner.adapters.process.MOST_OUTPUT", 1000)
    ended = run("sh", "-c", "head -c 3000000 /dev/zero; echo end >&2")
    assert (ended.status, len(ended.output), ended.error) == (0, 1000, b"end\n")


@pytest.mark.parametrize("pause", [0.0, 0.001, 0.01, 0.1])
def test_cancelling_ends_the_child_and_its_children_at_any_moment(tmp_path, pause):
    pid = tmp_path / "pid"

    async def cancel():
        script = f"sleep 60 & echo $! >{pid}; wait"
        task = asyncio.create_task(LocalProcesses().run(["sh", "-c", script], limit=60.0))
        await asyncio.sleep(pause)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    began = time.monotonic()
    asyncio.run(cancel())
    assert time.monotonic() - began < 5.0
    begun = pid.read_text().strip() if pid.exists() else ""
    assert not begun or until(lambda: not alive(begun))


def test_children_die_with_the_service_even_by_sigkill(tmp_path):
    pid = tmp_path / "pid"
    service = textwrap.dedent(f"""
        import asyncio
        from provisioner.adapters.process import LocalProcesses
        argv = ["sh", "-c", "echo $$ >{pid}; exec sleep 60"]
        asyncio.run(LocalProcesses().run(argv, limit=60.0))
    """)
    parent = subprocess.Popen([sys.executable, "-c", service], cwd=Path(__file__).parents[2])
    assert until(lambda: pid.exists() and pid.read_text().strip())
    child = pid.read_text().strip()
    assert alive(child)
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    assert until(lambda: not alive(child))


def test_a_conversation_with_a_child_line_by_line():
    async def talk():
        child = await LocalProcesses().start(["sh", "-c", "while read x; do echo got $x; done"])
        try:
            await child.say(b"one\n")
            first = await child.hear_line(100)
            await child.say(b"two\n")
            return first, await child.hear_line(100)
        finally:
            await child.end()

    assert asyncio.run(talk()) == (b"got one\n", b"got two\n")


def test_a_child_that_ended_says_nothing_more():
    async def talk():
        child = await LocalProcesses().start(["true"])
        heard = await child.hear_line(100), await child.hear(100)
        await child.end()
        await child.end()
        return heard

    assert asyncio.run(talk()) == (b"", b"")


def test_a_line_without_end_is_refused():
    async def talk():
        child = await LocalProcesses().start(["sh", "-c", "head -c 3000000 /dev/zero; sleep 60"])
        try:
            await child.hear_line(100)
        finally:
            await child.end()

    with pytest.raises(ValueError, match="a line of more than"):
        asyncio.run(talk())


def test_a_child_on_a_terminal_reads_its_secret_from_a_file_in_memory():
    async def talk():
        script = 'tty >/dev/null && echo terminal; cat "$0"'
        argv = ["sh", "-c", script, GIVEN_FILE]
        child = await LocalProcesses().start(argv, terminal=True, given=b"secret")
        heard = b""
        while part := await child.hear(100):
            heard += part
        await child.end()
        with pytest.raises(ConnectionError):
            await child.say(b"x")
        return heard

    assert asyncio.run(talk()).split() == [b"terminal", b"secret"]
