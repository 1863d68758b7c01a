"""What is taken for CloudStack's answer, by what a real one answered."""

import asyncio

import pytest

from cloudstack_ext.client import RefusalError
from cloudstack_ext.truth import ApiTruth
from provisioner.errors import ErrorCode, OperatorError, TransientError

INSTANCE = "e562347c-134d-4d01-a903-12e4b7af7f49"
ROW = {
    "id": INSTANCE,
    "account": "alice",
    "domain": "acme",
    "domainpath": "ROOT/acme",
    "serviceofferingid": "o-1",
    "serviceofferingname": "bm.h200x8",
    "templateid": "t-1",
    "templatename": "ubuntu-2404-cuda",
    "state": "Running",
    "deleteprotection": False,
}


class Api:
    """Answers as told, one after the other; what is an error is raised."""

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), []

    async def call(self, command, parameters):
        self.asked.append((command, dict(parameters)))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def of(*answers):
    api = Api(*answers)
    return asyncio.run(ApiTruth(api).of(INSTANCE)), api


def test_it_says_whose_the_instance_is_and_what_was_bought():
    told, api = of({"count": 1, "virtualmachine": [ROW]})
    assert told.owner == "ROOT/acme/alice"
    assert (told.offering, told.template) == ("o-1", "t-1")
    assert (told.state, told.is_protected) == ("Running", False)
    assert api.asked == [
        ("listVirtualMachines", {"id": INSTANCE, "listall": "true", "projectid": "-1"})
    ]


def test_it_says_what_its_owner_calls_it():
    named = {"name": "trainer", "displayname": "Trainer of Bob", "instancename": "i-7-3-VM"}
    told, _ = of({"count": 1, "virtualmachine": [ROW | named]})
    assert told.names == {"trainer", "Trainer of Bob"}
    assert of({"count": 1, "virtualmachine": [ROW]})[0].names == frozenset()


def test_a_projects_instance_is_the_projects():
    row = {key: value for key, value in ROW.items() if key != "account"}
    told, _ = of({"count": 1, "virtualmachine": [{**row, "project": "p1"}]})
    assert told.owner == "ROOT/acme/project p1"


def test_a_hidden_one_is_asked_for_by_name():
    told, api = of({}, {"count": 1, "virtualmachine": [ROW]})
    assert told.state == "Running"
    assert api.asked[1][1]["displayvm"] == "false"


REFUSED = RefusalError(ErrorCode.CLOUDSTACK_REFUSED, "no such id", status=431)


@pytest.mark.parametrize(
    "answers",
    [
        ({}, {}),
        (REFUSED, REFUSED),
        (RefusalError(ErrorCode.CLOUDSTACK_REFUSED, "inside", status=530),),
        (TransientError(ErrorCode.CLOUDSTACK_UNREACHABLE, "away"),),
        (OperatorError(ErrorCode.CLOUDSTACK_NONSENSE, "html"),),
        ({"virtualmachine": [ROW, ROW]}, {}),
        ({"virtualmachine": [{"id": INSTANCE}]},),
        ([], []),
    ],
    ids=str,
)
def test_anything_else_is_silence_and_never_absence(answers):
    with pytest.raises(TransientError) as silent:
        of(*answers)
    assert silent.value.code is ErrorCode.TRUTH_SILENT


@pytest.mark.parametrize(
    ("answer", "data"),
    [
        ({"virtualmachineuserdata": {"userdata": "I2Nsb3VkLWNvbmZpZwo="}}, b"#cloud-config\n"),
        ({"virtualmachineuserdata": {"virtualmachineid": INSTANCE}}, None),
    ],
)
def test_user_data_comes_decoded(answer, data):
    assert asyncio.run(ApiTruth(Api(answer)).user_data(INSTANCE)) == data


@pytest.mark.parametrize("answer", [{}, {"virtualmachineuserdata": {"userdata": "%"}}, []])
def test_user_data_in_another_form_is_silence(answer):
    with pytest.raises(TransientError, match="TRUTH_SILENT"):
        asyncio.run(ApiTruth(Api(answer)).user_data(INSTANCE))


ALICE = {"account": "alice", "domainid": "d-1"}


def test_templates_are_asked_for_as_the_owner_and_never_by_id():
    told, _ = of({"count": 1, "virtualmachine": [ROW | ALICE]})
    api = Api({"template": [{"id": "t-1"}]}, {"template": [{"id": "t-2"}]})
    assert asyncio.run(ApiTruth(api).templates_of(told)) == {"t-1", "t-2"}
    asked = [dict(parameters) for _, parameters in api.asked]
    assert asked == [
        {"templatefilter": each, "hypervisor": "External", **ALICE}
        for each in ("executable", "sharedexecutable")
    ]


def test_a_project_s_instance_asks_as_the_project():
    told, _ = of({"count": 1, "virtualmachine": [ROW | {"project": "p1", "projectid": "p-1"}]})
    assert told.asker == {"projectid": "p-1"}


def test_as_nobody_no_templates_are_asked_for():
    told, _ = of({"count": 1, "virtualmachine": [ROW]})
    with pytest.raises(TransientError, match="TRUTH_SILENT"):
        asyncio.run(ApiTruth(Api()).templates_of(told))
