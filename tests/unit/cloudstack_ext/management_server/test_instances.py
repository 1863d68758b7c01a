import itertools

import pytest

from cloudstack_ext.management_server.instances import MOVES, Event, Instance, State

NEVER_LEFT = {State.GONE}


def test_every_state_but_the_last_is_left_and_every_one_but_the_first_is_reached():
    assert {state for state, _ in MOVES} == set(State) - NEVER_LEFT
    assert set(MOVES.values()) == set(State)
    assert {event for _, event in MOVES} == set(Event)


@pytest.mark.parametrize("state", State)
def test_what_is_not_in_the_table_never_happens(state):
    for event in Event:
        instance = Instance(uuid="u", number=1, details={}, nics=[], state=state)
        if (state, event) in MOVES:
            instance.move(event)
            assert instance.state is MOVES[state, event]
        else:
            with pytest.raises(KeyError):
                instance.move(event)


def test_only_an_expunge_ends_an_instance_and_only_power_sync_starts_one_without_a_job():
    ends = {event for (_, event), after in MOVES.items() if after is State.GONE}
    runs = {event for (_, event), after in MOVES.items() if after is State.RUNNING}
    assert ends == {Event.EXPUNGED}
    assert runs == {Event.STARTED, Event.STOP_FAILED, Event.SEEN_ON, Event.SERVER_RESTARTED}
    assert len(list(itertools.product(State, Event))) > len(MOVES)
