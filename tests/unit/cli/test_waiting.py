"""Waiting for what failed includes the quarantine after it: is the server off?"""

from dataclasses import replace

import pytest

from provisioner.errors import ErrorCode
from provisioner.servers.operation import Status
from provisioner.servers.states import Intent
from provisioner.units import OperationId
from tests.unit.cli.rig import failed

SAID = "possibly still running: CONTROLLER_BUSY: its last call hangs"


def quarantines_after(rig, status, end):
    """The operation that is followed ends so, and the quarantine that it opens ends so."""
    running, quarantine = rig.desk.running, OperationId("q")

    def after_event():
        if quarantine in running:
            running[quarantine] = replace(running[quarantine], **end)
            return
        (first,) = running
        rig.desk.finish(first, status)
        running[quarantine] = replace(
            running[first], id=quarantine, kind=Intent.QUARANTINE, status=Status.OPEN
        )

    rig.door.after_event = after_event


DOUBT = {"status": Status.FAILED, "code": ErrorCode.POSSIBLY_RUNNING, "brief": SAID}


@pytest.mark.parametrize("output", ["table", "json"])
@pytest.mark.parametrize("status", [Status.CANCELLED, Status.FAILED])
def test_a_server_that_may_still_run_is_worse_news_than_why_it_had_to_be_off(rig, status, output):
    identifier = rig.begin()
    quarantines_after(rig, status, DOUBT)
    words = ("operation", "cancel", identifier, "--wait", "--output", output)
    assert SAID in failed(rig.run(*words), ErrorCode.POSSIBLY_RUNNING, 4)


def test_one_that_is_off_leaves_the_failure_as_it_was(rig):
    quarantines_after(rig, Status.FAILED, {"status": Status.DONE})
    failed(rig.run("server", "inspect", "bios1", "--wait"), ErrorCode.CANNOT_TELL, 4)
    assert [each.status for each in rig.desk.running.values()] == [Status.FAILED, Status.DONE]


def test_a_cancelled_operation_whose_server_is_off_has_ended_as_it_should(rig):
    identifier = rig.begin()
    quarantines_after(rig, Status.CANCELLED, {"status": Status.DONE})
    assert rig.run("operation", "cancel", identifier, "--wait").exit_code == 0
    assert [each.status for each in rig.desk.running.values()] == [Status.CANCELLED, Status.DONE]
