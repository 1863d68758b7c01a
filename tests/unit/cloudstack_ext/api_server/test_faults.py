"""The server fails as it is told to, and its log says what was done all the same."""

import json
import threading
import time

import pytest
import requests
from cs import CloudStackApiException, CloudStackException

from cloudstack_ext.api_server.calls import Outcome
from cloudstack_ext.api_server.faults import Fault, FaultKind, When
from tests.unit.cloudstack_ext.api_server.conftest import api_of

pytestmark = pytest.mark.emulated
EXTENSION = {"name": "metal", "type": "Orchestrator"}


@pytest.mark.parametrize(("when", "there"), [(When.BEFORE, 0), (When.AFTER, 1)])
def test_a_call_is_cut_before_or_after_the_server_has_acted(server, api, when, there):
    server.faults.add(Fault(kind=FaultKind.CUT, call=2, when=when))
    api.listZones()
    with pytest.raises(requests.ConnectionError):
        api.createExtension(**EXTENSION)
    assert len(server.state.extensions) == there
    cut = server.calls.all()[-1]
    assert (cut.number, cut.command) == (2, "createExtension")
    assert cut.outcome is (Outcome.CUT_AFTER if there else Outcome.CUT_BEFORE)
    assert cut.acted is bool(there)
    api.createExtension(**{**EXTENSION, "name": "next"})


def test_a_fault_of_a_command_waits_for_it(server, api):
    server.faults.add(Fault(kind=FaultKind.CUT, command="createExtension"))
    assert api.listZones()["count"] == 1
    with pytest.raises(requests.ConnectionError):
        api.createExtension(**EXTENSION)
    assert api.createExtension(**EXTENSION)["extension"]["pathready"]


def test_a_silent_server_keeps_the_caller_waiting(server):
    server.faults.add(Fault(kind=FaultKind.SILENT))
    api = api_of(server)
    api.timeout = 0.2
    with pytest.raises(requests.Timeout):
        api.listZones()


def test_stopping_lets_go_of_those_who_wait(server, api):
    server.faults.add(Fault(kind=FaultKind.SILENT))
    raised = []

    def wait():
        try:
            api.listZones()
        except requests.ConnectionError as error:
            raised.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    while not server.calls.all():
        time.sleep(0.01)
    server.stop()
    thread.join(5)
    assert raised


@pytest.mark.parametrize("code", [401, 430, 431, 432, 530, 531, 533, 535])
def test_an_error_is_one_of_cloudstack_s(server, api, code):
    server.faults.add(Fault(kind=FaultKind.ERROR, code=code))
    with pytest.raises(CloudStackApiException) as caught:
        api.listZones()
    assert caught.value.error["errorcode"] == code
    assert caught.value.response.status_code == code
    assert api.listZones()["count"] == 1


def test_200_with_an_empty_list_until_it_is_over(server, api):
    server.faults.add(Fault(kind=FaultKind.EMPTY, times=None))
    assert api.listZones() == api.listZones() == {}
    server.faults.clear()
    assert api.listZones()["count"] == 1


def test_a_page_of_html_is_no_answer(server, api):
    server.faults.add(Fault(kind=FaultKind.NOT_JSON, code=503))
    with pytest.raises(CloudStackException, match="HTTP 503"):
        api.listZones()


@pytest.mark.parametrize(
    ("fault", "status", "has_result"),
    [
        (Fault(kind=FaultKind.ENDLESS_JOB), 0, False),
        (Fault(kind=FaultKind.JOB_WITHOUT_RESULT), 2, False),
        (Fault(kind=FaultKind.JOB_FAILS, code=530, text="no"), 2, True),
    ],
)
def test_a_job_never_ends_or_ends_without_a_result_or_fails(
    server, api, clock, fault, status, has_result
):
    server.faults.add(fault)
    started = api.createProject(name="p")
    clock.now += 300
    job = api.queryAsyncJobResult(jobid=started["jobid"])
    assert job["jobstatus"] == status
    assert ("jobresult" in job) is has_result
    assert api.listProjects(id=started["id"])["count"] == 1, "half done: it is there"


def test_the_log_has_a_line_a_call_and_no_secret(server, api):
    api.createExtension(**EXTENSION, details={"endpoint": "https://here"})
    with pytest.raises(CloudStackApiException):
        api.createExtension(**EXTENSION)
    account = {"firstname": "a", "lastname": "b", "email": "c"}
    api.createAccount(username="u", password="hidden", **account)
    text = server.calls.path.read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    assert [line["number"] for line in lines] == [1, 2, 3]
    assert [line["outcome"] for line in lines] == ["answered", "refused", "answered"]
    assert [line["error"] for line in lines] == [None, 530, None]
    assert lines[0]["parameters"]["details[0].endpoint"] == "https://here"
    assert {line["account"] for line in lines} == {"admin"}
    assert server.calls.path.stat().st_mode & 0o777 == 0o600
    for secret in (server.key.key, server.key.secret.reveal(), "hidden", "signature"):
        assert secret not in text
    assert [each.number for each in server.calls.named("createAccount")] == [3]
