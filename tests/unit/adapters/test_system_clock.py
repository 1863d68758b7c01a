from provisioner.adapters.clock import SystemClock


def test_what_is_stored_of_one_clock_can_be_compared_with_the_others():
    first, second = SystemClock(), SystemClock()
    assert abs(first.monotonic() - second.wall()) < 600.0
    readings = [first.monotonic(), second.monotonic(), first.monotonic()]
    assert readings == sorted(readings)


def test_a_wall_clock_that_is_set_moves_only_itself(monkeypatch):
    clock = SystemClock()
    before = clock.monotonic()
    monkeypatch.setattr("provisioner.adapters.clock.time.time", lambda: 0.0)
    assert clock.wall() == 0.0
    assert 0.0 <= clock.monotonic() - before < 60.0


def test_with_the_wall_clock_set_back_since_then_what_is_stored_stays_past():
    clock = SystemClock()
    stored = clock.monotonic() + 7200.0
    clock.go_on_after(stored)
    assert stored <= clock.monotonic() < stored + 60.0
    clock.go_on_after(stored - 3600.0)
    assert clock.monotonic() >= stored, "and never back"
