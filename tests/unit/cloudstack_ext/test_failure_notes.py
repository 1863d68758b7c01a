"""A failure is explained once, in words of no hardware, and the note goes after a success."""

import pytest

from cloudstack_ext.client import RefusalError
from cloudstack_ext.failure_notes import MOST_CHARACTERS, Explainer, text_of
from provisioner.errors import ErrorCode, RackwrightError, TransientError
from provisioner.ports.failure_notes import FailureNote
from provisioner.servers.model import Power
from provisioner.testing import store
from tests.unit.operations.asking import ask, failed, note
from tests.unit.operations.changing import NAMES, Asking, fail
from tests.unit.operations.conftest import (  # noqa: F401 fixtures
    active,
    active_template,
    free_template,
    world,
)
from tests.unit.operations.world import REQUEST

ID = REQUEST.key.instance
OTHER = store.instance_request("22222222-2222-2222-2222-222222222222")
OPERATION = "0f3c9a52-7d11-4a63-9f0e-3b1a9c2d4e5f"


class Api:
    """Annotations of one CloudStack; cut before or after it has acted, as told."""

    def __init__(self):
        self.kept, self.calls, self.cut = {}, [], ""
        self.fails = {}  # by command and instance

    async def call(self, command, parameters):
        self.calls.append(command)
        if self.cut == "before":
            raise TransientError(ErrorCode.CLOUDSTACK_UNREACHABLE, "away")
        error = self.fails.get((command, self._instance(**parameters)))
        if error is not None:
            raise error
        acts = {
            "listAnnotations": self._listed,
            "addAnnotation": self._added,
            "removeAnnotation": self._removed,
        }
        answer = acts[command](**parameters)
        if self.cut == "after" and command != "listAnnotations":
            raise TransientError(ErrorCode.CLOUDSTACK_SILENT, "no answer")
        return answer

    def _instance(self, *, entityid="", id="", **_):  # noqa: A002 CloudStack's word
        return entityid or self.kept[id]["entityid"]

    def _listed(self, *, entityid, entitytype):
        found = [row for row in self.kept.values() if row["entityid"] == entityid]
        return {"annotation": found, "count": len(found)} if found else {}

    def _added(self, **row):
        assert len(row["annotation"]) <= MOST_CHARACTERS
        row["id"] = f"n-{len(self.calls)}"
        self.kept[row["id"]] = row
        return {"annotation": row}

    def _removed(self, *, id):  # noqa: A002 CloudStack's word
        return {"annotation": self.kept.pop(id)}

    def texts(self):
        return [row["annotation"] for row in self.kept.values()]


@pytest.fixture
def api():
    return Api()


def explain(world, api):  # noqa: F811
    async def door(_site):
        return api

    explainer = Explainer(
        sites=("lab",), door=door, notes=world.database.failure_notes, clock=world.clock
    )
    world.do(explainer.round("lab"))


@pytest.mark.parametrize("code", ErrorCode)
def test_every_code_fits_with_its_operation(code):
    text = text_of(FailureNote(operation=OPERATION, instance="i", code=code))
    assert len(text) <= MOST_CHARACTERS
    assert text.startswith(f"{code}: ")
    assert OPERATION in text


def test_a_failed_deployment_is_explained_once_and_names_no_server(world, api):  # noqa: F811
    failed(world)
    for _ in range(3):
        explain(world, api)
    (text,) = api.texts()
    assert text.startswith("AGENT_SILENT: ")
    assert "s1" not in text
    assert api.calls.count("addAnnotation") == 1


def test_the_note_goes_after_a_success(world, api):  # noqa: F811
    failed(world)
    explain(world, api)
    world.pass_time(world.times.failure_memory_s)
    world.live(ask(world, "create", within=3000.0))
    explain(world, api)
    assert api.texts() == []
    explain(world, api)
    assert api.calls.count("removeAnnotation") == 1


def test_only_the_newest_failure_of_an_instance_is_explained(world, api):  # noqa: F811
    failed(world)
    world.pass_time(world.times.failure_memory_s)
    world.agents["s2"].fails = {"write_image": ("DISK_FAILED", "as told")}
    with pytest.raises(RackwrightError):
        world.live(ask(world, "create", within=3000.0))
    explain(world, api)
    (text,) = api.texts()
    assert text.startswith("DISK_FAILED: ")


def test_a_deleted_instance_is_told_nothing_and_its_note_goes(world, api):  # noqa: F811
    failed(world)
    explain(world, api)
    world.live(world.bare_metal.release(REQUEST.key, "lab", until=world.within(20.0)))
    explain(world, api)
    assert api.texts() == []


@pytest.mark.parametrize("cut", ["before", "after"])
def test_a_call_that_was_cut_leaves_one_note_in_the_end(world, api, cut):  # noqa: F811
    failed(world)
    api.cut = cut
    explain(world, api)
    api.cut = ""
    explain(world, api)
    explain(world, api)
    assert len(api.texts()) == 1


SILENT = TransientError(ErrorCode.CLOUDSTACK_SILENT, "no answer")
INSIDE = RefusalError(ErrorCode.CLOUDSTACK_REFUSED, "inside", status=530)
EXPUNGED = RefusalError(ErrorCode.CLOUDSTACK_REFUSED, "Invalid entity", status=431)
ASKED = {"silence": SILENT, "another refusal": INSIDE, "expunged": EXPUNGED}


def two_failed(world):  # noqa: F811
    """The first's note is due before the second's."""
    failed(world)
    world.agents["s2"].fails = {"write_image": ("DISK_FAILED", "as told")}
    world.ask_for_deployment(OTHER)
    world.walk()


@pytest.mark.parametrize("case", ASKED)
@pytest.mark.parametrize("command", ["listAnnotations", "addAnnotation"])
def test_a_note_that_cannot_be_left_keeps_no_other(world, api, command, case):  # noqa: F811
    two_failed(world)
    api.fails[command, ID] = ASKED[case]
    explain(world, api)
    assert [row["entityid"] for row in api.kept.values()] == [OTHER.key.instance]
    asked = len(api.calls)
    explain(world, api)
    is_over = case == "expunged"
    assert (len(api.calls) == asked) is is_over
    api.fails.clear()
    explain(world, api)
    assert len(api.kept) == (1 if is_over else 2)


@pytest.mark.parametrize("case", ASKED)
@pytest.mark.parametrize("command", ["listAnnotations", "removeAnnotation"])
def test_a_note_that_cannot_be_taken_back_keeps_no_other(world, api, command, case):  # noqa: F811
    two_failed(world)
    explain(world, api)
    for request in (REQUEST, OTHER):
        world.live(world.bare_metal.release(request.key, "lab", until=world.within(20.0)))
    api.fails[command, ID] = ASKED[case]
    explain(world, api)
    assert [row["entityid"] for row in api.kept.values()] == [ID]
    asked = len(api.calls)
    explain(world, api)
    is_over = case == "expunged"
    assert (len(api.calls) == asked) is is_over
    api.fails.clear()
    explain(world, api)
    assert len(api.kept) == (1 if is_over else 0)


def test_a_note_that_was_given_up_is_not_taken_back(world, api):  # noqa: F811
    failed(world)
    api.fails["addAnnotation", ID] = EXPUNGED
    explain(world, api)
    world.live(world.bare_metal.release(REQUEST.key, "lab", until=world.within(20.0)))
    asked = len(api.calls)
    explain(world, api)
    assert len(api.calls) == asked


def test_a_note_that_somebody_has_removed_is_not_removed_again(world, api):  # noqa: F811
    failed(world)
    explain(world, api)
    api.kept.clear()
    world.pass_time(world.times.failure_memory_s)
    world.live(ask(world, "create", within=3000.0))
    explain(world, api)
    assert "removeAnnotation" not in api.calls


def test_where_nobody_is_asked_nothing_is_written(world):  # noqa: F811
    failed(world)

    async def nobody(_site):
        return None

    notes = world.database.failure_notes
    explainer = Explainer(sites=("lab",), door=nobody, notes=notes, clock=world.clock)
    world.do(explainer.round("lab"))
    assert len(notes.due("lab", 0.0)) == 1


@pytest.mark.parametrize("name", NAMES)
def test_what_clears_up_behind_a_failure_is_neither_explained_nor_a_success(active, api, name):  # noqa: F811
    note(active, Power.ON)
    asking = Asking(active)
    fail(active, asking, name)
    for _ in range(2):
        explain(active, api)
        (text,) = api.texts()
        assert text.startswith("DISK_FAILED: ")
    asking.to_its_end(name)
    explain(active, api)
    assert api.texts() == []
