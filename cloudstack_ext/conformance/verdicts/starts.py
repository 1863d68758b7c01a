"""Pitfalls of prepare, create and start: what comes before an instance runs. Pure."""

from collections.abc import Sequence
from typing import Final

from cloudstack_ext.conformance.verdicts.verdict import Pitfall, behaviour

_CALLERS = "tests/service/faults/test_callers.py::"

STARTS: Final[Sequence[Pitfall]] = (
    behaviour(
        "1",
        "create fails: stop follows, never delete",
        "the claim waits for the next create, and is given back when none comes",
        "create after a failed one and its stop succeeds",
        f"{_CALLERS}test_a_stop_after_a_failed_create_gives_the_server_back_when_nobody_asks_again",
    ),
    behaviour(
        "2",
        "create is sent up to eleven times",
        "a failure is remembered for ten minutes and answered at once",
        "tests/unit/operations/test_create.py::test_a_failure_is_remembered_for_ten_minutes_and_answered_at_once",
    ),
    behaviour(
        "3",
        "prepare fails: create comes without it",
        "create claims by itself",
        "create needs no prepare before it",
    ),
    behaviour(
        "4",
        "attempts on different hosts",
        "the binding is by uuid; a reservation in another pool is given back",
        "prepare answers the same when it is asked again",
        "tests/unit/store/test_reservation.py::test_a_reservation_in_another_pool_is_given_back",
    ),
    behaviour(
        "5",
        "start of what was never created",
        "refused; no machine is booted",
        "start of what was never created fails",
        "reboot of what was never created fails",
    ),
    behaviour(
        "6",
        "create of what is installed already",
        "is a start, never an installation",
        "create of a running instance changes nothing",
        "create of a stopped instance starts it without its image",
        "tests/unit/cloudstack_ext/test_verbs.py::test_create_for_an_installed_instance_installs_nothing_whoever_asks",
    ),
    behaviour(
        "22",
        "SIGKILL at the end of the wait, to the direct child alone",
        "an answer comes at 80 % of it; what was begun goes on and is attached to",
        "create ends before it would be killed",
        "a create that was killed is taken up again",
    ),
    behaviour(
        "23",
        "the management server ends in mid create",
        "the installation goes on; status says unknown until it is up",
        "a server killed in mid create loses nothing",
        "a create that was killed is taken up again",
    ),
    behaviour(
        "24",
        "two management servers call for one instance",
        "one operation, to which both are attached",
        "two creates at once both succeed",
        "start of a running instance succeeds",
        "another server hears the same",
        "create after delete fails",
    ),
    behaviour(
        "25",
        "a job is cancelled while create goes on",
        "unknown meanwhile: it ends Running; a stop touches nothing; the setting is advised on",
        "a cancelled job s create ends running",
        "status during create is not off",
        "stop during create succeeds and the next create too",
    ),
    behaviour(
        "49",
        "hundreds of calls at once",
        "a server is given out in one atomic statement",
        "two instances never share a machine",
        "many statuses at once all say the same",
        f"{_CALLERS}test_64_creates_at_once_for_two_servers",
    ),
    behaviour(
        "seen a2",
        "a failing prepare does not stop a deployment",
        "create decides; what prepare would refuse it refuses too",
        "create needs no prepare before it",
        "tests/unit/cloudstack_ext/test_verbs.py::test_an_image_that_the_pool_lacks_is_refused_early_and_in_create",
    ),
    behaviour(
        "seen i.3",
        "deployvm stays: the next start of a used machine is create",
        "is a start",
        "create of a running instance changes nothing",
        "create of a stopped instance starts it without its image",
    ),
    behaviour(
        "seen 2.13",
        "deployed without a start: prepare and create come later",
        "nothing is claimed before",
        "create needs no prepare before it",
        "prepare answers the same when it is asked again",
    ),
)
