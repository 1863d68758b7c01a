"""The door itself, with real processes: sections e, f, g and g2 of the observations."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from cloudstack_ext.contract import Verb
from cloudstack_ext.lab.payload import LabInstance, lab_payload
from cloudstack_ext.management_server.by_hand import ByHand
from cloudstack_ext.management_server.entry_point import HELD, NOT_EXECUTABLE, Children, EntryPoint
from cloudstack_ext.power_view import PowerState

pytestmark = pytest.mark.emulated
INSTANCE = LabInstance(
    uuid="00000000-0000-4000-8000-000000000001",
    name="i-2-1-VM",
    nic_uuid="11111111-0000-4000-8000-000000000001",
    mac="02:01:00:00:00:01",
    address="10.77.1.10",
    netmask="255.255.255.0",
    gateway="10.77.1.1",
    dns="10.77.1.2",
    vlan=701,
    image="tiny",
    hostname="demo-1",
)


@pytest.fixture
def program(tmp_path):
    def make(text, **door):
        path = tmp_path / "program"
        path.write_text(f"#!/bin/bash\n{text}\n")
        path.chmod(0o755)
        folder = tmp_path / "extensions"
        return EntryPoint(argv=[str(path)], folder=folder, door=Children(**door))

    return make


def test_it_is_called_with_three_words_and_a_silent_open_input(program):
    point = program('echo "$# $1 $3"; test -f "$2" && read -t 0.3; echo $?')
    said = point.call("sel log", b"{}", 5).output.split("\n")
    assert said[0] == "3 sel log 5"
    assert int(said[1]) > 128  # read timed out: neither a line nor an end


def test_what_hangs_is_killed_at_the_end_of_its_wait_and_its_output_dropped(program):
    began = time.monotonic()
    called = program('trap "" TERM; echo "$2"; exec sleep 60').call("create", b"{}", 1)
    assert time.monotonic() - began < 5
    assert (called.exit, called.output, called.failure) == (None, "", "Timeout")
    assert 1.0 <= called.seconds < 3.0


def test_only_the_direct_child_is_killed(program, tmp_path):
    alive = tmp_path / "alive"
    called = program(f"(sleep 1.5; touch {alive}) >/dev/null 2>&1 & sleep 60").call("x", b"{}", 1)
    assert called.failure == "Timeout"
    until = time.monotonic() + 10
    while not alive.exists():
        assert time.monotonic() < until
        time.sleep(0.05)


def test_both_outputs_come_as_one_text(program):
    called = program("echo out; echo err >&2; exit 3").call("reboot", b"{}", 5)
    assert called.failure == "Exit code: 3, Output: out\nerr"


@pytest.mark.parametrize(("size", "failure"), [(65_001, ""), (65_536, ""), (65_537, "Timeout")])
def test_more_than_a_pipe_blocks_the_child_until_it_is_killed(program, size, failure):
    called = program(f"head -c {size} /dev/zero | tr '\\0' x > $2.out; cat $2.out").call(
        "x", b"{}", 2
    )
    assert called.failure == failure
    assert len(called.output) == (0 if failure else size)


def test_what_keeps_the_output_open_is_waited_for_and_then_given_up(program):
    called = program("echo here; sleep 30 &", held_s=0.5).call("x", b"{}", 5)
    assert (called.held, called.failure) == (True, HELD)
    assert called.seconds < 0.5


def test_what_redirects_its_output_may_live_on(program):
    called = program("echo here; sleep 30 >/dev/null 2>&1 &", held_s=5).call("x", b"{}", 5)
    assert (called.held, called.output) == (False, "here\n")


@pytest.mark.parametrize("mode", [0o644, None])
def test_an_entry_that_cannot_be_run_is_said_to_be(tmp_path, mode):
    path = tmp_path / "program"
    if mode is not None:
        path.write_text("#!/bin/bash\n")
        path.chmod(mode)
    called = EntryPoint(argv=[str(path)], folder=tmp_path / "x").call("stop", b"{}", 5)
    assert called.failure == NOT_EXECUTABLE


def test_payload_files_stay_but_for_those_of_a_status_that_succeeded(program):
    point = program('test "$1" != bad')
    for verb in ("status", "stop", "bad", "delete"):
        point.call(verb, b'{"x":1}', 5)
    left = list(point.folder.iterdir())
    assert len(left) == 3
    assert {file.stat().st_mode & 0o777 for file in left} == {0o644}
    assert program("exit 1").call("status", b"{}", 5).failure
    assert len(list(point.folder.iterdir())) == 4


def test_all_that_runs_is_killed_with_the_server(program):
    point = program("exec sleep 60")
    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(point.call, "create", b"{}", 50) for _ in range(2)]
        while len(point.door._running) < 2:
            time.sleep(0.01)
        point.door.kill_all()
        assert {each.result().exit for each in both} == {-9}


@pytest.mark.parametrize(
    ("said", "state"),
    [
        ("PowerOn", PowerState.ON),
        ('{"power_state":"poweroff"}', PowerState.OFF),
        ("warn\n{}", PowerState.UNKNOWN),
        ("", PowerState.UNKNOWN),
        ("[]", PowerState.UNKNOWN),
    ],
)
def test_status_is_read_as_the_server_reads_it(program, said, state):
    assert program(f"printf '%s' '{said}'").call("status", b"{}", 5).power_state() is state


# --- by hand ----------------------------------------------------------------------------------
@pytest.mark.parametrize("said", ["hello", "[]", 'warn\n{"nics":[]}', '{"nics":7}'])
def test_an_answer_of_prepare_that_cannot_be_read_is_its_failure(program, tmp_path, said):
    argv = program(f"printf '%s' '{said}'").argv
    called = ByHand(entry=argv, folder=tmp_path / "x").call("prepare", b"{}", 5)
    assert called.failure == "Failed to parse VM"


def test_what_prepare_changed_stands_in_the_payloads_after_it(program, tmp_path):
    nic, seen = INSTANCE.nic_uuid, tmp_path / "seen"
    answer = f'{{"nics":[{{"nicUuid":"{nic}","mac":"aa:bb:cc:dd:ee:ff","ip":"10.0.0.9"}}]}}'
    argv = program(f"cat $2 >> {seen}; printf '%s' '{answer}'").argv
    server = ByHand(entry=argv, folder=tmp_path / "x")
    server.call("prepare", lab_payload(Verb.PREPARE, INSTANCE), 5)
    seen.unlink()
    server.call("create", lab_payload(Verb.CREATE, INSTANCE), 5)
    assert '"mac":"aa:bb:cc:dd:ee:ff"' in seen.read_text()
    assert '"ip":"10.0.0.9"' in seen.read_text()
    assert INSTANCE.mac not in seen.read_text()
    assert server.mac_of(nic) == "aa:bb:cc:dd:ee:ff"
