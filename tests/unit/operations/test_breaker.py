import pytest

from provisioner.errors import ErrorCode, OperatorError, TransientError
from provisioner.operations.breaker import Breaker
from provisioner.secret import Secret
from provisioner.testing.clock import FakeClock

WHO = ("admin", Secret("wrong"))
SILENT = TransientError(ErrorCode.CONTROLLER_UNREACHABLE, "silent")


def broken(times, jitter=0.5):
    clock = FakeClock()
    breaker = Breaker(clock, lambda: jitter)
    for _ in range(times):
        breaker.failed(SILENT, WHO)
    return breaker, clock


@pytest.mark.parametrize(
    ("failures", "pause"),
    [(1, 0), (2, 0), (3, 30), (4, 60), (5, 120), (7, 480), (8, 600), (99, 600)],
)
def test_pauses_double_after_two_free_failures_and_end_at_ten_minutes(failures, pause):
    breaker, _ = broken(failures)
    assert breaker.remaining() == pause


@pytest.mark.parametrize(("jitter", "pause"), [(0.0, 24.0), (1.0, 36.0)])
def test_pauses_are_spread_by_a_fifth(jitter, pause):
    assert broken(3, jitter)[0].remaining() == pytest.approx(pause)


def test_nobody_asks_during_a_pause_and_one_may_ask_after_it():
    breaker, clock = broken(3)
    with pytest.raises(TransientError, match="failed 3 times and is left alone for 30 s"):
        breaker.check("controller x", WHO)
    clock.advance(30.0)
    breaker.check("controller x", WHO)


def test_an_answer_forgets_all_failures():
    breaker, clock = broken(3)
    clock.advance(30.0)
    breaker.answered()
    breaker.failed(SILENT, WHO)
    assert breaker.remaining() == 0


@pytest.mark.parametrize("code", [ErrorCode.CONTROLLER_BUSY, ErrorCode.CONTROLLER_REFUSED])
def test_who_is_busy_or_refuses_is_alive(code):
    breaker, _ = broken(0)
    for _ in range(9):
        breaker.failed(TransientError(code, ""), WHO)
    assert breaker.remaining() == 0


def test_a_refused_password_is_refused_for_good_until_it_changes():
    breaker, clock = broken(0)
    breaker.failed(OperatorError(ErrorCode.CONTROLLER_PASSWORD, "no"), WHO)
    clock.advance(1e6)
    with pytest.raises(OperatorError) as refused:
        breaker.check("controller x", ("admin", Secret("wrong")))
    assert refused.value.code is ErrorCode.CONTROLLER_PASSWORD
    breaker.check("controller x", ("admin", Secret("right")))
    breaker.check("controller x", ("other", Secret("wrong")))
