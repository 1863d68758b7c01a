"""When a wipe may begin, as a table."""

from dataclasses import replace

import pytest

from provisioner.servers.turns import Line, Pace, Turn, Why, wait_of

TURN = Turn(operation="o", server="s1", pool="a", counted=True, held=False)
HELD = replace(TURN, held=True)
EMPTY = Line(servers=10, begun=0, before=0)
FULL = replace(EMPTY, begun=4)
DAY = 86400.0

# turn, line, pace, at -> why it waits
TABLE = {
    "nobody else": (TURN, EMPTY, Pace(), None),
    "the last place of the hour": (TURN, replace(EMPTY, begun=3), Pace(), None),
    "the hour is full": (TURN, FULL, Pace(), Why.PACE),
    "the last place is another's": (TURN, replace(EMPTY, begun=3, before=1), Pace(), Why.PACE),
    "one that does not count": (replace(TURN, counted=False), FULL, Pace(), None),
    "let go by name": (replace(TURN, let_go_by="ann"), FULL, Pace(), None),
    "a tenth of a large pool": (TURN, Line(servers=200, begun=19, before=0), Pace(), None),
    "and no more": (TURN, Line(servers=200, begun=20, before=0), Pace(), Why.PACE),
    "as it was set": (TURN, replace(EMPTY, begun=1), Pace(at_most_per_hour=1), Why.PACE),
    "protected, asked now": (HELD, EMPTY, Pace(), Why.PROTECTED),
    "protected, six days ago": (replace(HELD, asked_at=4 * DAY), EMPTY, Pace(), Why.PROTECTED),
    "protected, seven days ago": (replace(HELD, asked_at=3 * DAY), EMPTY, Pace(), None),
    "then it waits like others": (replace(HELD, asked_at=3 * DAY), FULL, Pace(), Why.PACE),
    "protected, let go by name": (replace(HELD, let_go_by="ann"), FULL, Pace(), None),
    "protected, never active": (replace(HELD, counted=False), EMPTY, Pace(), Why.PROTECTED),
    "no hold was set": (HELD, EMPTY, Pace(protected_hold_s=0.0), None),
}


@pytest.mark.parametrize("name", TABLE)
def test_a_wipe_begins_or_says_why_it_waits(name):
    turn, line, pace, why = TABLE[name]
    wait = wait_of(turn, line, pace, now=10 * DAY)
    assert (wait and wait.why) == why


def test_a_protected_one_says_until_when():
    assert wait_of(HELD, EMPTY, Pace(), now=DAY).until == 8 * DAY
    assert wait_of(replace(HELD, asked_at=DAY), EMPTY, Pace(), now=5 * DAY).until == 8 * DAY


@pytest.mark.parametrize(("servers", "most"), [(1, 4), (40, 4), (49, 4), (50, 5), (1000, 100)])
def test_a_tenth_of_the_pool_and_at_least_four(servers, most):
    assert Pace().most(servers) == most
    assert Pace(at_most_per_hour=7).most(servers) == 7
