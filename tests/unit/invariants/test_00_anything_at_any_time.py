"""All of them together: verbs, operators, faults, crashes and hands at the machine, by the dice.

A seed that finds something is kept here for ever. `python -m tests.unit.invariants.stories` walks
as many as one likes.
"""

import pytest

from tests.unit.invariants.murphy import Murphy
from tests.unit.invariants.stories import Impatient, Workshop

SEEDS = {31: 12, 66: 4}
"""With the acts that it takes."""


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_that_must_never_happen_happens(active, seed):
    story = Murphy(active, seed)
    story.live(SEEDS[seed])
    story.settle()


def test_nor_does_it_where_wipes_wait_for_their_turn(active):
    story = Impatient(active, 3)
    story.live(20)
    story.settle()


def test_nor_with_adopted_servers_and_replaced_disks(active):
    story = Workshop(active, 5)
    story.live(20)
    story.settle()
