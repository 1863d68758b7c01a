"""Why a server is in quarantine, and the doubt that stands beside it."""

import pytest

from provisioner.servers.quarantine_reason import (
    is_in_doubt,
    said_anew,
    with_doubt,
    without_doubt,
)

RUNS = "possibly still running: CONTROLLER_BUSY: it hangs"
PORT = "not cut off: port p1 leads to tenant 7"

# reason before, brief of the failed quarantine -> reason after
DOUBTS = [
    ("smoke", RUNS, f"smoke; {RUNS}"),
    ("", RUNS, RUNS),
    (f"smoke; {RUNS}", PORT, f"smoke; {PORT}"),
    (f"smoke; {RUNS}; {PORT}", RUNS, f"smoke; {RUNS}"),
    (RUNS, PORT, PORT),
    ("smoke", "a bug", "smoke; possibly still running: CANNOT_TELL: a bug"),
]


@pytest.mark.parametrize(("reason", "brief", "expected"), DOUBTS)
def test_the_newest_doubt_stands_behind_the_reason(reason, brief, expected):
    found = with_doubt(reason, "CANNOT_TELL", brief)
    assert found == expected
    assert is_in_doubt(found)
    assert without_doubt(f"why; {found}") == ("why; smoke" if reason[:1] == "s" else "why")


# reason -> after a quarantine that was done, and after one that is asked for as "fans"
SETTLED = [
    ("", "", "fans"),
    ("smoke", "smoke", "fans"),
    (f"smoke; {RUNS}", "smoke", f"fans; {RUNS}"),
    (RUNS, "CONTROLLER_BUSY: it hangs", f"fans; {RUNS}"),
    (f"smoke; {RUNS}; {PORT}", "smoke", f"fans; {RUNS}; {PORT}"),
]


@pytest.mark.parametrize(("reason", "done", "anew"), SETTLED)
def test_a_doubt_goes_when_it_is_settled_and_not_before(reason, done, anew):
    assert without_doubt(reason) == done
    assert not is_in_doubt(done)
    assert said_anew(reason, "fans") == anew
