"""A registration against an API server that behaves as the real one."""

import pytest

from cloudstack_ext.api_server.faults import Fault, FaultKind, When
from provisioner.errors import TransientError
from tests.unit.cloudstack_ext.registration.rig import Zone, steps

pytestmark = pytest.mark.emulated


def test_an_empty_zone_gets_everything_in_order_and_then_nothing(zone):
    plan = zone.apply()
    assert plan.refusals == ()
    assert steps(plan) == [
        ("make", "extension", "rackwright"),
        ("make", "cluster", "metal1"),
        ("wait", "extension", "rackwright"),
        ("make", "host", "h200-a"),
        ("make", "host", "general-a"),
        ("make", "action", "reinstall"),
        ("make", "action", "why"),
        ("make", "action", "cordon"),
        ("make", "template", "Debian 12"),
        ("make", "template", "Ubuntu"),
        ("make", "offering", "bm.h200x8"),
        ("make", "offering", "bm.general"),
    ]
    again = zone.plan()
    assert steps(again) == []
    assert again.untouched == 11
    assert again.notices == ()


# --- cut off --------------------------------------------------------------------------------
MADE = 11
"""Objects: cut off before it, the making of each ends the walk."""


@pytest.mark.parametrize("when", list(When))
def test_a_first_apply_cut_at_any_call_is_ended_by_the_next_and_nothing_is_there_twice(when):
    with Zone() as whole:
        whole.apply()
        calls = len(whole.server.calls.all())
        wanted = _shape(whole)
    cut = 0
    for number in range(1, calls + 1):
        with Zone() as zone:
            zone.server.faults.add(Fault(kind=FaultKind.CUT, when=when, call=number))
            try:
                zone.apply()
            except TransientError:
                cut += 1
                zone.apply()
            assert steps(zone.plan()) == [], number
            assert _shape(zone) == wanted, number
    # reads are asked again, lost makings looked up: most cuts do not even end the walk
    assert cut == (MADE if when is When.BEFORE else 0)
    assert calls > 2 * MADE


def _shape(zone):
    """What is there, without ids and times."""
    state = zone.state
    return {
        "extensions": [(each.name, sorted(each.details)) for each in state.extensions.values()],
        "clusters": [each.name for each in state.clusters.values()],
        "hosts": [(each.name, each.tags, sorted(each.details)) for each in state.hosts.values()],
        "actions": [(each.name, each.roles, each.enabled) for each in state.actions.values()],
        "templates": [
            (each.name, each.public, sorted(each.details)) for each in state.templates.values()
        ],
        "offerings": [
            (each.name, each.gpus, each.state.value, sorted(each.details))
            for each in state.offerings.values()
        ],
        "memory": sorted(
            (row.kind.value, row.name, row.retired) for row in zone.memory.kept.values()
        ),
    }
