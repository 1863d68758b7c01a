"""What each action answers, by what is remembered."""

import asyncio
import json
from dataclasses import replace

import pytest

from cloudstack_ext.actions import (
    certificate,
    hardware_inventory,
    health_check,
    progress,
    table,
    why,
    words,
)
from cloudstack_ext.actions.asked import Asked
from cloudstack_ext.actions.console_log import MOST_CHARACTERS, MOST_LINES
from cloudstack_ext.contract import LINE_MOST, parse_call, shown
from cloudstack_ext.registration.actions import ActionName
from cloudstack_ext.verbs import without_key
from provisioner.errors import ErrorCode, InputError, RackwrightError, TransientError
from provisioner.ports.machines import Answer
from provisioner.ports.tenant_desk import Console, Port, Story, Walk
from provisioner.servers.allocation import InstanceView, Phase
from provisioner.servers.model import Placement, Power, PowerReading
from provisioner.servers.operation import OperationRecord, Status
from provisioner.servers.states import Intent
from provisioner.testing.store import inventory
from tests.recorded_payloads import DETAILS, SITE, body_of

RUNNING = InstanceView(
    phase=Phase.ACTIVE, wanted=Power.ON, known_to_caller=True, on_confirmed=True, fresh=True
)


def operation(kind=Intent.DEPLOY, status=Status.DONE, **more):
    values = {
        "id": f"id of {kind}",
        "kind": kind,
        "steps_name": f"{'reboot' if kind is Intent.POWER else kind}/1",
        "steps": ("one", "two", "three"),
        "server": "gpu-17",
        "epoch": 1,
        "who": "lab: bob (User)",
        "status": status,
        "opened_at": 0.0,
        "ended_at": None if status is Status.OPEN else 60.0,
        "parameters": {},
        "brief": "disk S3RIAL of gpu-17 failed",
        "detail": "console of gpu-17",
    }
    return OperationRecord(**{**values, **more})


def story(view=RUNNING, *operations, **more):
    newest = Walk(operation=operations[0], stage="two", number=2) if operations else None
    return Story(view=view, now=100.0, operations=operations, newest=newest, **more)


def items(rows):
    return {row["item"]: row["value"] for row in rows}


# --- why -----------------------------------------------------------------------------------------
SITUATIONS = [
    (InstanceView(phase=None), "no machine was ever given to it"),
    (InstanceView(phase=None, held=True), "the service waits for its operators"),
    (InstanceView(phase=Phase.RESERVED), "a machine is kept for it"),
    (InstanceView(phase=Phase.DEPLOYING), "it is being installed"),
    (RUNNING, "installed, wanted on"),
    (replace(RUNNING, wanted=Power.OFF), "installed, wanted off"),
    (replace(RUNNING, quarantined=True), "its machine is isolated"),
    (replace(RUNNING, rescue=True), "a rescue system runs"),
    (replace(RUNNING, needs_reinstall=True), "its root disk may be half written"),
    (InstanceView(phase=Phase.ENDED), "its machine was given back"),
    (InstanceView(phase=Phase.ENDED, failed=True), "its installation failed"),
]


@pytest.mark.parametrize(("view", "says"), SITUATIONS)
def test_every_situation_has_a_sentence(view, says):
    assert words.situation(view).startswith(says)


def test_why_tells_code_meaning_and_operation_of_the_last_failure():
    failed = operation(Intent.POWER, Status.FAILED, code=ErrorCode.POWER_NOT_REACHED)
    older = operation(Intent.POWER, Status.FAILED, code=ErrorCode.DISK_FAILED, id="older")
    found = items(why.rows_of(story(RUNNING, failed, older, operation())))
    assert found == {
        "state": "installed, wanted on",
        "power": "on",
        "last failure": "POWER_NOT_REACHED",
        "what it means": "The controller accepted the command, the power state did not follow.",
        "it failed in": "restart",
        "failed at": "1970-01-01 00:01:00 UTC",
        "operation": "id of power",
    }


def test_why_says_what_goes_on_and_what_was_done_since():
    failed = operation(Intent.POWER, Status.CANCELLED, code=ErrorCode.CANCELLED)
    done = operation(Intent.POWER, steps_name="start/1")
    going_on = operation(Intent.POWER, Status.OPEN, id="now")
    found = items(why.rows_of(story(RUNNING, going_on, done, failed)))
    assert found["going on"] == "restart, two (2 of 3)"
    assert found["its operation"] == "now"
    assert found["done since then"] == "start, 1970-01-01 00:01:00 UTC"


def test_what_was_superseded_did_not_fail():
    superseded = operation(Intent.POWER, Status.SUPERSEDED)
    found = items(why.rows_of(story(RUNNING, superseded)))
    assert found["last failure"] == "none is remembered"


@pytest.mark.parametrize("code", ErrorCode)
def test_a_failure_s_words_come_from_the_list_and_never_from_the_error(code):
    failed = operation(Intent.DEPLOY, Status.FAILED, code=code)
    said = json.dumps(list(why.rows_of(story(RUNNING, failed))))
    assert code in said
    assert not [each for each in ("gpu-17", "S3RIAL", "console of", "bob") if each in said]


# --- progress ------------------------------------------------------------------------------------
def test_progress_tells_stage_and_bytes():
    walk = Walk(
        operation=operation(status=Status.OPEN, progress_bytes=(3 * 10**9, 4 * 10**9)),
        stage="two",
        number=2,
    )
    assert items(progress.rows_of(walk)) == {
        "operation": "id of deploy",
        "what": "installation",
        "state": "goes on",
        "stage": "two (2 of 3)",
        "written": "3.0 GB of 4.0 GB (75 %)",
        "begun": "1970-01-01 00:00:00 UTC",
    }


@pytest.mark.parametrize("status", Status)
def test_progress_of_what_has_ended_says_how_and_when(status):
    found = items(progress.rows_of(Walk(operation=operation(status=status))))
    assert found["state"] == words.ENDS[status]
    assert ("ended" in found) == (status is not Status.OPEN)
    assert found["stage"] == "none of 3 yet"


def test_progress_of_nothing_is_said():
    assert "none was begun" in items(progress.rows_of(None))["operation"]


# --- health-check --------------------------------------------------------------------------------
def health(view=RUNNING, power=Power.ON, at=88.0, port=Placement.TENANT):
    reading = PowerReading(power=power, at=at, source="loop", why="refused by gpu-17")
    placed = None if port is None else Port(placement=port, at=60.0)
    rows = health_check.rows_of(story(view, reading=reading, port=placed))
    return {row["check"]: (row["result"], row["meaning"]) for row in rows}


OFF = replace(RUNNING, on_confirmed=False, off_confirmed=True)
UNSURE = replace(RUNNING, on_confirmed=False)


@pytest.mark.parametrize(
    ("view", "result", "says"),
    [
        (RUNNING, "ok", "on"),
        (OFF, "look", "off, although it was started"),
        (replace(OFF, wanted=Power.OFF), "ok", "off"),
        (replace(RUNNING, wanted=Power.OFF), "look", "on, although it was stopped"),
        (UNSURE, "unknown", "not confirmed"),
        (replace(RUNNING, commanding=True), "unknown", "a command goes on"),
    ],
)
def test_power_is_compared_with_what_is_wanted(view, result, says):
    assert health(view)["power"][0] == result
    assert health(view)["power"][1].startswith(says)


@pytest.mark.parametrize(
    ("power", "fresh", "result"),
    [(Power.ON, True, "ok"), (Power.ON, False, "unknown"), (Power.UNKNOWN, False, "silent")],
)
def test_a_silent_controller_and_an_old_reading_are_said(power, fresh, result):
    found = health(replace(RUNNING, fresh=fresh), power)["remote control"]
    assert found[0] == result
    assert found[1].endswith("last asked 12 s ago")


@pytest.mark.parametrize("placement", [*Placement, None])
def test_every_place_of_a_port_has_words(placement):
    result, meaning = health(port=placement)["network"]
    assert result in {"ok", "cut off", "unknown"}
    assert meaning


@pytest.mark.parametrize("view", [InstanceView(phase=None), InstanceView(phase=Phase.ENDED)])
def test_without_a_machine_there_is_one_line_of_health(view):
    (row,) = health_check.rows_of(story(view))
    assert (row["check"], row["result"]) == ("instance", "look")


# --- hardware-inventory --------------------------------------------------------------------------
def test_an_inventory_counts_parts_and_names_none_of_them():
    facts = inventory("5e1f0000-0000-4000-8000-000000000001", "52:54:00:00:00:01", gpus=8)
    disk = replace(facts.disks[0], serial="S3RIAL", wwn="eui.77", bus_path="pci-0000:81:00.0")
    facts = replace(facts, disks=(disk, replace(disk, serial="0TH3R"), replace(disk, bytes=10**12)))
    rows = list(hardware_inventory.rows_of(facts))
    assert [(row["item"], row["value"]) for row in rows] == [
        ("system", "Example One"),
        ("processors", "1 x One, 8 threads"),
        ("memory", "64 GiB"),
        ("firmware", "uefi"),
        ("disks", "2 x 1.1 TB nvme, Example"),
        ("disks", "1 x 1.0 TB nvme, Example"),
        ("network cards", "1"),
        ("GPUs", "8 x PCI 10de:2335"),
    ]


# --- through the table ----------------------------------------------------------------------------
class Desk:
    """ports.tenant_desk.TenantDesk that answers with what it was made with."""

    def __init__(self, **answers):
        self.answers, self.calls = answers, []

    def __getattr__(self, name):
        async def ask(*given, **more):
            self.calls.append((name, given[1:], more))
            answer = self.answers[name]
            if isinstance(answer, Exception):
                raise answer
            return await answer() if callable(answer) else answer

        return ask


def request(name, parameters=None, *, state="Running", role="Admin", **more):
    body = body_of(7) | {"action": name} | more
    body["caller"]["roletype"] = role
    body[DETAILS]["state"] = state
    if parameters is not None:
        body["parameters"] = parameters
    return parse_call(name, json.dumps(body).encode(), SITE)


async def named_trainer(_key):
    return frozenset({"trainer", "Trainer of Bob"})


async def nameless(_key):
    return frozenset()


async def certified(request, _size, image, _until):
    return replace(request, truth="owner alice", image=image, user_data=b"new")


async def not_asked(request, _size, image, _until):
    return without_key(request, image)


def run(desk, *asked, names=nameless, anew=certified, **more):
    made = Asked(
        request=request(*asked, **more),
        desk=desk,
        changes=desk,
        names=names,
        anew=anew,
        until=6.0,
    )
    return json.loads(asyncio.run(table.act(made)).line)


def code_of(desk, *asked, **more):
    with pytest.raises(RackwrightError) as caught:
        run(desk, *asked, **more)
    return str(caught.value.code)


def test_every_registered_action_is_run():
    assert set(table.ACTS) == set(ActionName)


@pytest.mark.parametrize(
    "given", ["i-7-3-VM", " I-7-3-vm ", body_of(7)["virtualmachineid"].upper()]
)
def test_a_power_cycle_that_is_confirmed_is_done(given):
    walk = Walk(operation=operation(Intent.POWER, Status.OPEN), stage="two", number=2)
    desk = Desk(power_cycle=walk)
    found = items(run(desk, "power-cycle", {"confirm": given})["message"])
    assert found == {
        "restart": "goes on: ask for progress",
        "operation": "id of power",
        "stage": "two (2 of 3)",
    }
    assert desk.calls == [("power_cycle", (), {"until": 6.0})]


@pytest.mark.parametrize("given", ["i-7-33-VM", "yes", "-", "true"])
def test_a_power_cycle_that_is_not_confirmed_asks_nobody(given):
    desk = Desk()
    assert code_of(desk, "power-cycle", {"confirm": given}) == "PAYLOAD_FIELD"
    assert desk.calls == []


@pytest.mark.parametrize(
    ("given", "says"), [("trainer", ""), ("Trainer of Bob", ""), ("trainer2", "PAYLOAD_FIELD")]
)
def test_the_name_that_its_owner_gave_it_confirms_where_cloudstack_says_it(given, says):
    desk = Desk(power_cycle=Walk(operation=operation(Intent.POWER)))
    if says:
        asked = ("power-cycle", {"confirm": given})
        assert code_of(desk, *asked, names=named_trainer) == says
    else:
        found = run(desk, "power-cycle", {"confirm": given}, names=named_trainer)
        assert items(found["message"])["restart"] == "done"
    assert len(desk.calls) == (0 if says else 1)


def test_a_nameless_payload_is_not_confirmed_by_nothing():
    body = {"confirm": " "}
    assert code_of(Desk(), "power-cycle", body, virtualmachinename="") == "PAYLOAD_FIELD"


@pytest.mark.parametrize("state", ["Stopped", "Stopping", "Starting", "Error", ""])
def test_what_does_not_run_in_cloudstack_is_not_power_cycled(state):
    desk = Desk()
    assert code_of(desk, "power-cycle", {"confirm": "i-7-3-VM"}, state=state) == "STATE_CONFLICT"
    assert desk.calls == []


@pytest.mark.parametrize("role", ["User", "DomainAdmin", "ResourceAdmin", "admin", None])
@pytest.mark.parametrize(("name", "parameters"), [("cordon", {"reason": "x"}), ("uncordon", None)])
def test_a_cordon_by_a_claim_that_is_less_than_admin_is_refused(role, name, parameters):
    desk = Desk(cordon=Answer(text="done"))
    assert code_of(desk, name, parameters, role=role) == "PERMISSION"
    assert desk.calls == []


def test_cordon_and_uncordon_say_who_and_why():
    desk = Desk(cordon=Answer(text="done"))
    run(desk, "cordon", {"reason": "noise"})
    run(desk, "uncordon")
    assert desk.calls == [
        ("cordon", ("lab: alice (User)", "noise"), {}),
        ("cordon", ("lab: alice (User)", None), {}),
    ]


def test_a_console_is_a_table_of_its_lines_and_fits_into_one_answer():
    lines = tuple('"\\' * 500 for _ in range(MOST_LINES))
    desk = Desk(console=Console(operation="o", lines=lines))
    message = run(desk, "console-log")["message"]
    assert [row["line"] for row in message] == [str(n + 1) for n in range(MOST_LINES)]
    assert {len(row["console"]) for row in message} == {MOST_CHARACTERS}
    assert "no console" in run(Desk(console=Console()), "console-log")["message"][0]["console"]


def test_a_certificate_s_statement_comes_back_whole():
    disks = [{"erased": True}, {"erased": False}]
    times = {"verified": {"ended": "2026-12-01T04:00:00Z"}}
    document = {"times": times, "class": "purge", "disks": disks, "not_covered": ["x"]}
    found = items(certificate.rows_of({"document": document, "hash": "é\n"}))
    assert json.loads(found["statement"]) == {"document": document, "hash": "é\n"}
    assert found["disks"] == "1 of 2 erased"


def test_an_answer_that_comes_too_late_is_given_up(monkeypatch):
    monkeypatch.setattr(table, "GIVEN_UP_AFTER_S", 0.0)
    assert table.ANSWER_WITHIN < 7.0

    async def late():
        await asyncio.wait({asyncio.ensure_future(asyncio.Event().wait())}, timeout=1.0)
        return story()

    assert code_of(Desk(story=late), "why") == "DEADLINE"


def test_what_the_desk_refuses_is_the_answer():
    busy = TransientError(ErrorCode.DATABASE_BUSY, "busy")
    assert code_of(Desk(story=busy), "why") == "DATABASE_BUSY"


# --- the form ------------------------------------------------------------------------------------
def test_rows_are_shown_as_a_table():
    reply = shown(({"item": "a", "value": "ü\n"},))
    assert (reply.exit, reply.line.isascii(), "\n" in reply.line) == (0, True, False)
    assert json.loads(reply.line) == {
        "status": "success",
        "printmessage": "true",
        "message": [{"item": "a", "value": "ü\n"}],
    }


def test_an_answer_that_does_not_fit_is_refused_and_not_cut():
    with pytest.raises(InputError) as caught:
        shown(({"statement": "x" * LINE_MOST},))
    assert caught.value.code is ErrorCode.PAYLOAD_TOO_LARGE
