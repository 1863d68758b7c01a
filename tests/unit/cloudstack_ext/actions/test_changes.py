"""Reinstall, reseed and rescue as an action asks for them, and what it shows."""

from dataclasses import replace

import pytest

from provisioner.errors import ErrorCode, TransientError
from provisioner.ports.tenant_desk import Walk
from provisioner.servers.model import Power
from provisioner.servers.operation import Status
from provisioner.servers.states import Intent
from tests.recorded_payloads import DETAILS, body_of
from tests.unit.cloudstack_ext.actions.test_actions import (
    RUNNING,
    Desk,
    code_of,
    items,
    not_asked,
    operation,
    progress,
    run,
    story,
    why,
)

KEY = body_of(7)[DETAILS]["details"]["SSH.PublicKey"].strip()
NAMES = ("reinstall", "reseed", "rescue")
CONFIRM = {"reinstall": {"confirm": "i-7-3-VM"}, "reseed": None, "rescue": None}
FINGERPRINT = f"SHA256:{'a' * 43}"


def walking(name, status=Status.OPEN, **more):
    return Walk(operation=operation(Intent(name), status), stage="two", number=2, **more)


class Changes(Desk):
    """ports.instance_changes that keeps what it was asked for, and certifies it."""

    def __init__(self, **answers):
        super().__init__(**{name: walking(name) for name in NAMES} | answers)
        self.asked = []

    def __getattr__(self, name):
        async def ask(request, *, certify=None, **more):
            self.asked.append((name, more))
            if certify is not None:
                request = await certify(replace(request, pool="a"), "large")
            self.request = request
            return self.answers[name]

        return ask


@pytest.mark.parametrize("name", NAMES)
def test_one_that_lasts_names_its_operation_and_stage(name):
    changes = Changes()
    found = items(run(changes, name, CONFIRM[name])["message"])
    assert found[name] == "goes on: ask for progress"
    assert (found["operation"], found["stage"]) == (f"id of {name}", "two (2 of 3)")
    assert changes.asked[0][1]["until"] == 6.0
    assert changes.request.ssh_keys == (KEY,)


ENDS = [("Running", Power.ON), ("Stopped", Power.OFF)]


@pytest.mark.parametrize("name", ["reinstall", "reseed"])
@pytest.mark.parametrize(("state", "ends"), ENDS)
def test_it_ends_in_the_power_state_that_cloudstack_holds(name, state, ends):
    changes = Changes()
    run(changes, name, CONFIRM[name], state=state)
    assert changes.asked[0][1]["ends"] is ends


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("state", ["Stopping", "Starting", "Migrating", "Error", ""])
def test_nothing_begins_while_cloudstack_changes_its_power(name, state):
    changes = Changes()
    assert code_of(changes, name, CONFIRM[name], state=state) == "STATE_CONFLICT"
    assert changes.asked == []


def test_a_rescue_of_what_is_stopped_is_refused():
    changes = Changes()
    assert code_of(changes, "rescue", state="Stopped") == "STATE_CONFLICT"
    assert changes.asked == []


@pytest.mark.parametrize("given", ["i-7-33-VM", "yes", "-"])
def test_a_reinstall_that_is_not_confirmed_asks_nobody(given):
    changes = Changes()
    assert code_of(changes, "reinstall", {"confirm": given}) == "PAYLOAD_FIELD"
    assert changes.asked == []


def test_a_reinstall_takes_user_data_and_image_from_what_cloudstack_says():
    changes = Changes()
    found = run(changes, "reinstall", {"confirm": "i-7-3-VM", "image": "debian"})
    assert (changes.request.image, changes.request.user_data) == ("debian", b"new")
    assert "user data" not in items(found["message"])


def test_without_a_key_a_reinstall_says_that_it_has_no_user_data():
    changes = Changes()
    found = items(run(changes, "reinstall", CONFIRM["reinstall"], anew=not_asked)["message"])
    assert found["user data"].startswith("none: it comes from CloudStack's API")
    assert changes.request.image is None


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("reinstall", {"confirm": "i-7-3-VM", "image": "debian"}), ("reseed", None)],
)
def test_without_a_key_nothing_is_done_that_needs_cloudstack_s_word(name, parameters):
    assert code_of(Changes(), name, parameters, anew=not_asked) == "SITE_KEY_MISSING"


@pytest.mark.parametrize("name", ["reinstall", "reseed"])
def test_while_cloudstack_is_silent_it_is_refused_at_once(name):
    async def silent(*_given):
        raise TransientError(ErrorCode.TRUTH_SILENT, "no answer")

    assert code_of(Changes(), name, CONFIRM[name], anew=silent) == "TRUTH_SILENT"


def test_a_rescue_asks_nobody_else_and_shows_the_host_key_once_it_is_known():
    async def never(*_given):
        raise AssertionError

    found = items(run(Changes(), "rescue", anew=never)["message"])
    assert found["host key"] == "not known yet: ask for progress"
    stands = Changes(rescue=walking("rescue", Status.DONE, host_key=FINGERPRINT))
    found = items(run(stands, "rescue", anew=never)["message"])
    assert (found["rescue"], found["host key"]) == ("done", FINGERPRINT)


def test_progress_and_why_show_the_host_key():
    walk = walking("rescue", Status.DONE, host_key=FINGERPRINT)
    assert items(progress.rows_of(walk))["host key"] == FINGERPRINT
    stands = replace(story(replace(RUNNING, rescue=True), walk.operation), newest=walk)
    assert items(why.rows_of(stands))["host key"] == FINGERPRINT
    assert "host key" not in items(why.rows_of(replace(stands, view=RUNNING)))


def test_a_key_that_is_none_stops_these_actions_and_no_other():
    details = body_of(7)[DETAILS]
    details["details"]["SSH.PublicKey"] = "no key\x00"
    details["state"] = "Running"
    bad = {DETAILS: details}
    with pytest.raises(Exception, match="PAYLOAD_FIELD"):
        run(Changes(), "rescue", **bad)
    run(Desk(story=story()), "why", **bad)
