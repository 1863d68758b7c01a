import asyncio
import json

import pytest

from provisioner.adapters.bmc_pyghmi import MOST_IDLE, PyghmiDoor, PyghmiWorkers
from provisioner.errors import ErrorCode, RackwrightError
from provisioner.secret import Secret
from provisioner.servers.ipmi import CHASSIS_STATUS
from provisioner.servers.model import ControllerAddress, ControllerProtocol

ADDRESS = ControllerAddress(
    protocol=ControllerProtocol.IPMI, host="10.0.0.1", port=6230, user="admin"
)
E = ErrorCode


class Workers:
    """ports.Children whose children answer by the verb of each line."""

    def __init__(self, **answers):
        self.answers = {
            "open": '{"suite": 3}',
            "ask": '{"code": 0, "data": "01"}',
            "close": "{}",
        } | answers
        self.started, self.argv, self.lines = [], [], []

    async def start(self, argv, *, terminal=False, given=b""):
        self.argv.append((argv, given))
        self.started.append(Worker(self))
        return self.started[-1]


class Worker:
    def __init__(self, workers):
        self.workers, self.ended, self.verb = workers, False, ""

    async def say(self, given):
        line = json.loads(given)
        self.workers.lines.append(line)
        (self.verb,) = line

    async def hear_line(self, most):
        return self.workers.answers[self.verb].encode() + b"\n"

    async def end(self):
        self.ended = True


def ask(workers, times=1):
    async def whole():
        pool = PyghmiWorkers(workers)
        try:
            answers = []
            for _ in range(times):
                door = PyghmiDoor(ADDRESS, Secret("s3cret"), pool)
                answers += [await door.ask(CHASSIS_STATUS), await door.ask(CHASSIS_STATUS)]
                assert door.cipher_suite() == 3
                await door.close()
            return answers
        finally:
            await pool.close()

    return asyncio.run(whole())


def test_one_session_serves_a_conversation_and_one_worker_serves_many():
    workers = Workers()
    answers = ask(workers, times=3)
    assert {(answer.code, answer.data) for answer in answers} == {(0, b"\x01")}
    assert len(workers.started) == 1
    assert [next(iter(line)) for line in workers.lines] == ["open", "ask", "ask", "close"] * 3
    assert workers.started[0].ended


def test_the_password_goes_by_a_line_and_never_by_argv():
    workers = Workers()
    ask(workers)
    assert "s3cret" not in repr(workers.argv)
    assert workers.lines[0]["open"]["password"] == "s3cret"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("IpmiException: Incorrect password provided", E.CONTROLLER_PASSWORD),
        ("IpmiException: Unauthorized name in RAKP2", E.CONTROLLER_PASSWORD),
        (
            "IpmiException: Insufficient resources to create new session (wait for existing ones)",
            E.CONTROLLER_BUSY,
        ),
        ("IpmiException: Invalid role in RAKP2", E.CONTROLLER_REFUSED),
        (
            "IpmiException: Unauthorized role or privilege level requested in RAKP2",
            E.CONTROLLER_REFUSED,
        ),
        (
            "IpmiException: No Cipher suite match with proposed security algorithms",
            E.CONTROLLER_REFUSED,
        ),
        ("IpmiException: timeout", E.CONTROLLER_UNREACHABLE),
        ("IpmiException: None", E.CONTROLLER_UNREACHABLE),
        ("IpmiException: Session no longer connected", E.CONTROLLER_UNREACHABLE),
        ("gaierror: [Errno -2] Name or service not known", E.CONTROLLER_UNREACHABLE),
        ("struct.error: unpack requires a buffer of 4 bytes", E.CONTROLLER_NONSENSE),
    ],
)
def test_words_of_pyghmi_are_told_apart(words, code):
    workers = Workers(open=json.dumps({"error": words}))
    with pytest.raises(RackwrightError) as failed:
        ask(workers)
    assert failed.value.code is code
    assert workers.started[0].ended


def test_a_worker_that_ended_is_a_controller_that_does_not_answer():
    workers = Workers(ask="")
    with pytest.raises(RackwrightError) as failed:
        ask(workers)
    assert failed.value.code is E.CONTROLLER_UNREACHABLE
    assert workers.started[0].ended


def test_an_interrupted_worker_is_not_used_again():
    workers = Workers()

    async def whole():
        pool = PyghmiWorkers(workers)
        door = PyghmiDoor(ADDRESS, Secret("s3cret"), pool)
        await door.ask(CHASSIS_STATUS)
        stuck = asyncio.Event()
        workers.started[0].hear_line = lambda _most: stuck.wait()
        asking = asyncio.create_task(door.ask(CHASSIS_STATUS))
        await asyncio.sleep(0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await door.close()
        await pool.take()

    asyncio.run(whole())
    assert workers.started[0].ended
    assert len(workers.started) == 2


def test_so_many_idle_workers_are_kept_and_no_more():
    workers = Workers()

    async def whole():
        pool = PyghmiWorkers(workers)
        taken = [await pool.take() for _ in range(MOST_IDLE + 3)]
        for each in taken:
            await pool.give(each)
        ended = sum(each.ended for each in taken)
        await pool.close()
        return ended, all(each.ended for each in taken)

    assert asyncio.run(whole()) == (3, True)
