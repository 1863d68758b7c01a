from itertools import product

import pytest

from provisioner.errors import ConflictError
from provisioner.servers.model import State
from provisioner.servers.states import CHANGES, FOLLOWS, MOVES, SATISFIED, Ending, Intent, next_move

WIPED = (Intent.INSPECT, Intent.REBASELINE, Intent.CLEAN, Intent.DEPLOY, Intent.RELEASE)
RUNNING = {State.VERIFYING, State.INSPECTING, State.CLEANING, State.DEPLOYING, State.RELEASING}


@pytest.mark.parametrize(("state", "intent"), list(product(State, Intent)))
def test_every_pair_is_a_move_a_no_op_or_a_conflict(state, intent):
    if state in SATISFIED[intent]:
        assert next_move(state, intent) is None
    elif (state, intent) in MOVES:
        assert next_move(state, intent) == MOVES[state, intent]
    else:
        with pytest.raises(ConflictError, match="STATE_CONFLICT"):
            next_move(state, intent)


@pytest.mark.parametrize("key", list(MOVES), ids=str)
def test_every_move_says_where_each_ending_leads(key):
    assert set(MOVES[key].ends) == set(Ending)


@pytest.mark.parametrize("key", list(MOVES), ids=str)
def test_only_a_wipe_or_a_request_refused_before_power_makes_a_server_available(key):
    move = MOVES[key]
    for ending, state in move.ends.items():
        if state is State.AVAILABLE and key[1] not in {Intent.UNRESERVE}:
            assert (key[1], ending) in {
                (Intent.CLEAN, Ending.DONE),
                (Intent.RELEASE, Ending.DONE),
                (Intent.DEPLOY, Ending.INPUT),
            }


def test_quarantine_is_left_only_by_a_wipe_an_inspection_or_for_good():
    assert {intent for state, intent in MOVES if state is State.QUARANTINED} == {
        Intent.CLEAN,
        Intent.INSPECT,
        Intent.REBASELINE,
        Intent.RETIRE,
    }


@pytest.mark.parametrize(
    ("intent", "ending"),
    [(i, e) for i in WIPED for e in Ending],
)
def test_what_ends_in_quarantine_is_followed_by_switching_off(intent, ending):
    ends = {move.ends[ending] for (_, wanted), move in MOVES.items() if wanted is intent}
    if ends == {State.QUARANTINED}:
        assert FOLLOWS[intent, ending] is Intent.QUARANTINE
    else:
        assert FOLLOWS.get((intent, ending)) is not Intent.QUARANTINE


@pytest.mark.parametrize(("key", "follower"), list(FOLLOWS.items()), ids=str)
def test_what_follows_can_run_where_the_ending_leads(key, follower):
    intent, ending = key
    for (_, wanted), move in MOVES.items():
        if wanted is intent:
            end = move.ends[ending]
            assert (end, follower) in MOVES or end in SATISFIED[follower]


@pytest.mark.parametrize("intent", CHANGES)
@pytest.mark.parametrize("ending", Ending)
def test_what_a_tenant_asks_for_its_machine_never_takes_it_away(intent, ending):
    ends = {move.ends[ending] for (_, wanted), move in MOVES.items() if wanted is intent}
    assert ends <= {State.ACTIVE, State.RESCUE}
    assert (ends == {State.RESCUE}) == ((intent, ending) == (Intent.RESCUE, Ending.DONE))


@pytest.mark.parametrize("intent", CHANGES)
def test_a_failed_one_is_followed_by_off_and_cut_off_and_a_refused_one_by_nothing(intent):
    followed = {ending: FOLLOWS.get((intent, ending)) for ending in Ending}
    assert followed == dict.fromkeys(Ending, Intent.POWER) | {Ending.DONE: None, Ending.INPUT: None}


def test_a_rescue_is_left_by_power_release_or_quarantine_alone():
    assert {intent for state, intent in MOVES if state is State.RESCUE} == {
        Intent.POWER,
        Intent.RELEASE,
        Intent.QUARANTINE,
    }
    assert next_move(State.RESCUE, Intent.RESCUE) is None
