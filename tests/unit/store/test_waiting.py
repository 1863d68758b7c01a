"""A database that is away for a while is waited for, off the loop."""

import asyncio
import threading

import pytest

from provisioner.errors import ConflictError, ErrorCode, TransientError
from provisioner.store import waiting
from provisioner.store.waiting import stored


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(waiting, "FIRST_PAUSE_S", 0.001)


class Away:
    """Busy so many times, then there."""

    def __init__(self, times, code=ErrorCode.DATABASE_BUSY):
        self.times, self.code, self.calls = times, code, []

    def ask(self, *args, **also):
        self.calls.append(threading.current_thread())
        if len(self.calls) <= self.times:
            raise TransientError(self.code, "away")
        return args, also


@pytest.mark.parametrize("code", [ErrorCode.DATABASE_BUSY, ErrorCode.DATABASE_FULL])
def test_the_same_call_is_made_again_until_it_succeeds(quick, code):
    away = Away(3, code)
    assert asyncio.run(stored(away.ask, 1, now=2)) == ((1,), {"now": 2})
    assert len(away.calls) == 4
    assert threading.main_thread() not in away.calls


def test_it_is_not_waited_for_ever(quick, monkeypatch):
    monkeypatch.setattr(waiting, "LONGEST_S", 0.05)
    with pytest.raises(TransientError, match="away"):
        asyncio.run(stored(Away(10_000).ask))


def test_other_refusals_come_at_once(quick):
    away = Away(1, ErrorCode.NO_CAPACITY)
    with pytest.raises(TransientError, match="NO_CAPACITY"):
        asyncio.run(stored(away.ask))

    def refuse():
        raise ConflictError(ErrorCode.SUPERSEDED, "a newer owner")

    with pytest.raises(ConflictError):
        asyncio.run(stored(refuse))
    assert len(away.calls) == 1
