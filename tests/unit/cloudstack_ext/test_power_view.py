import itertools
from dataclasses import replace
from pathlib import Path

import pytest

from cloudstack_ext.power_view import TABLE, PowerState, power_state, row_of, status_page
from provisioner.servers.allocation import InstanceView, Phase
from provisioner.servers.model import Power

ON, OFF, UNKNOWN = PowerState.ON, PowerState.OFF, PowerState.UNKNOWN
PAGE = Path(__file__).parents[3] / "docs" / "status.md"
FLAGS = (
    "known_to_caller",
    "on_confirmed",
    "off_confirmed",
    "fresh",
    "commanding",
    "quarantined",
    "held",
    "failed",
    "rescue",
)
EVERY = [
    InstanceView(phase=phase, wanted=wanted, **dict(zip(FLAGS, flags, strict=True)))
    for phase in (None, *Phase)
    for wanted in Power
    for flags in itertools.product((False, True), repeat=len(FLAGS))
]
ACTIVE_ON = InstanceView(
    phase=Phase.ACTIVE, known_to_caller=True, wanted=Power.ON, on_confirmed=True, fresh=True
)
ACTIVE_OFF = replace(ACTIVE_ON, wanted=Power.OFF, on_confirmed=False, off_confirmed=True)
RESCUE = replace(ACTIVE_ON, rescue=True)
DEPLOYING = InstanceView(phase=Phase.DEPLOYING, wanted=Power.ON, on_confirmed=True, fresh=True)
ENDED = InstanceView(phase=Phase.ENDED, known_to_caller=True, off_confirmed=True)


@pytest.mark.parametrize(
    ("view", "says"),
    [
        (InstanceView(phase=None), UNKNOWN),
        (InstanceView(phase=Phase.RESERVED, fresh=True, off_confirmed=True), UNKNOWN),
        (DEPLOYING, UNKNOWN),
        (replace(DEPLOYING, known_to_caller=True), ON),
        (replace(DEPLOYING, known_to_caller=True, on_confirmed=False, fresh=False), ON),
        (replace(DEPLOYING, known_to_caller=True, wanted=Power.OFF), UNKNOWN),
        (ACTIVE_ON, ON),
        (replace(ACTIVE_ON, on_confirmed=False), UNKNOWN),
        (replace(ACTIVE_ON, on_confirmed=False, off_confirmed=True), OFF),
        (replace(ACTIVE_ON, fresh=False), UNKNOWN),
        (replace(ACTIVE_ON, commanding=True), UNKNOWN),
        (replace(ACTIVE_ON, quarantined=True), UNKNOWN),
        (replace(ACTIVE_ON, held=True), UNKNOWN),
        (RESCUE, ON),
        (replace(RESCUE, fresh=False, on_confirmed=False), ON),
        (replace(RESCUE, commanding=True), UNKNOWN),
        (replace(RESCUE, quarantined=True), UNKNOWN),
        (replace(RESCUE, on_confirmed=False, off_confirmed=True), OFF),
        (replace(RESCUE, fresh=False, off_confirmed=True), ON),
        (ACTIVE_OFF, OFF),
        (replace(ACTIVE_OFF, off_confirmed=False), UNKNOWN),
        (replace(ACTIVE_OFF, off_confirmed=False, on_confirmed=True), UNKNOWN),
        (replace(ACTIVE_OFF, commanding=True), UNKNOWN),
        (replace(ACTIVE_OFF, quarantined=True), UNKNOWN),
        (ENDED, OFF),
        (replace(ENDED, on_confirmed=True, fresh=True), OFF),  # the wipe boots it
        (replace(ENDED, quarantined=True), OFF),
        (replace(ENDED, failed=True), OFF),
        (replace(ENDED, failed=True, known_to_caller=False), UNKNOWN),
        (replace(ENDED, known_to_caller=False), OFF),
        (replace(ENDED, off_confirmed=False), UNKNOWN),
        (replace(ENDED, held=True), UNKNOWN),
    ],
)
def test_the_table_of_the_architecture(view, says):
    assert power_state(view) is says


def test_a_server_on_that_is_wanted_off_is_an_alarm():
    row = row_of(replace(ACTIVE_OFF, off_confirmed=False, on_confirmed=True))
    assert row.alarm
    assert sum(each.alarm for each in TABLE) == 1


def test_off_is_never_said_without_off_being_confirmed():
    assert all(view.off_confirmed for view in EVERY if power_state(view) is OFF)


def test_on_is_never_said_of_what_is_not_wanted_on_or_not_known_to_be_so():
    for view in EVERY:
        if power_state(view) is ON:
            assert view.wanted is Power.ON
            assert view.phase in {Phase.DEPLOYING, Phase.ACTIVE}
            assert view.known_to_caller or view.on_confirmed


def test_a_held_service_says_nothing():
    assert {power_state(view) for view in EVERY if view.held} == {UNKNOWN}


def test_a_living_allocation_in_quarantine_or_unread_is_unknown():
    unsure = [view for view in EVERY if view.phase is Phase.ACTIVE]
    unsure = [
        view
        for view in unsure
        if view.quarantined or view.commanding or not (view.fresh or view.rescue)
    ]
    assert {power_state(view) for view in unsure} == {UNKNOWN}


def test_cloudstack_has_what_it_was_told_is_on():
    told = [v for v in EVERY if v.phase is Phase.ACTIVE and (v.fresh or not v.on_confirmed)]
    told = [v for v in told if not (v.rescue and v.known_to_caller)]  # those it has anyway
    assert all((power_state(view) is ON) == view.says_on() for view in told)


def test_every_row_is_reached():
    assert {row_of(view).situation for view in EVERY} == {row.situation for row in TABLE}


def test_the_page_is_current():
    assert PAGE.read_text() == status_page()
