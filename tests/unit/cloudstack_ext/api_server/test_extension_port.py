"""Who plays the extension: asked from a thread, without the lock, and its word counts."""

import threading
import time

import pytest
import requests

from cloudstack_ext.api_server.call import Reply
from cloudstack_ext.api_server.server import ApiServer
from tests.unit.cloudstack_ext.api_server.conftest import api_of
from tests.unit.cloudstack_ext.api_server.registered import register

pytestmark = pytest.mark.emulated


class Player:
    """Does as it is told, and may be held back."""

    def __init__(self):
        self.asked = []
        self.fails = {}
        self.goes_on = threading.Event()
        self.goes_on.set()

    def perform(self, ask):
        self.asked.append((ask.action, dict(ask.parameters)))
        assert self.goes_on.wait(10)
        failure = self.fails.get(ask.action)
        return Reply(output="{}") if failure is None else Reply(success=False, output=failure)


@pytest.fixture
def player():
    return Player()


@pytest.fixture
def server(player):
    with ApiServer(extension=player) as running:
        yield running


@pytest.fixture
def made(api):
    return register(api)


def begun(api, made, **more):
    return api.deployVirtualMachine(
        zoneid=made.zone, templateid=made.template, serviceofferingid=made.offering, **more
    )


def ended(api, begun):
    for _ in range(500):
        job = api.queryAsyncJobResult(jobid=begun["jobid"])
        if job["jobstatus"]:
            return job
        time.sleep(0.01)
    pytest.fail("the job does not end")


def deployed(api, made):
    answer = begun(api, made)
    assert ended(api, answer)["jobstatus"] == 1
    return answer["id"]


def state_of(api, instance):
    return api.listVirtualMachines(id=instance)["virtualmachine"][0]["state"]


def test_the_api_answers_while_the_extension_works(api, made, player):
    player.goes_on.clear()
    answer = begun(api, made)
    assert state_of(api, answer["id"]) == "Starting"
    assert api.queryAsyncJobResult(jobid=answer["jobid"])["jobstatus"] == 0
    player.goes_on.set()
    assert ended(api, answer)["jobresult"]["virtualmachine"]["state"] == "Running"


def test_a_first_start_is_a_deployment_and_the_next_one_is_not(api, made, player):
    instance = begun(api, made, startvm=False)["id"]
    assert player.asked == []
    for call in (api.startVirtualMachine, api.stopVirtualMachine, api.startVirtualMachine):
        assert ended(api, call(id=instance))["jobstatus"] == 1
    assert [action for action, _ in player.asked] == ["deploy", "stop", "start"]


def test_deployvm_makes_the_next_start_a_deployment(api, made, player):
    instance = deployed(api, made)
    ended(api, api.stopVirtualMachine(id=instance))
    api.updateVirtualMachine(id=instance, details={"deployvm": "true"})
    ended(api, api.startVirtualMachine(id=instance))
    assert [action for action, _ in player.asked] == ["deploy", "stop", "deploy"]


def test_a_stop_of_a_stopped_one_asks_nobody(api, made, player):
    instance = begun(api, made, startvm=False)["id"]
    assert ended(api, api.stopVirtualMachine(id=instance))["jobstatus"] == 1
    assert player.asked == []


def test_expunging_is_a_stop_and_a_delete(api, made, player):
    instance = deployed(api, made)
    ended(api, api.destroyVirtualMachine(id=instance, expunge=True))
    assert [action for action, _ in player.asked] == ["deploy", "stop", "delete"]
    assert api.listVirtualMachines(id=instance) == {}


@pytest.mark.parametrize(
    ("failing", "asked", "state"),
    [("stop", ["stop"], "Running"), ("delete", ["stop", "delete"], "Expunging")],
)
def test_what_fails_ends_the_expunging(api, made, player, failing, asked, state):
    instance = deployed(api, made)
    player.asked.clear()
    player.fails = {failing: "Exit code: 1, Output: no"}
    job = ended(api, api.destroyVirtualMachine(id=instance, expunge=True))
    assert (job["jobstatus"], job["jobresultcode"]) == (2, 530)
    assert [action for action, _ in player.asked] == asked
    assert state_of(api, instance) == state


def test_a_forced_stop_that_fails_leaves_it_stopped_all_the_same(api, made, player):
    instance = deployed(api, made)
    player.fails = {"stop": "Exit code: 1, Output: no"}
    job = ended(api, api.stopVirtualMachine(id=instance, forced=True))
    assert (job["jobstatus"], state_of(api, instance)) == (2, "Stopped")
    assert "Exit code: 1, Output: no" in job["jobresult"]["errortext"]


def test_an_action_gets_its_own_parameters_alone_and_its_failure_is_a_success_of_the_job(
    api, made, player
):
    action = api.addCustomAction(
        extensionid=made.extension,
        name="look",
        enabled=True,
        parameters=[{"name": "what", "type": "STRING", "required": True}],
    )["extensioncustomaction"]["id"]
    instance = deployed(api, made)
    player.fails = {"look": "Exit code: 3, Output: dark"}
    given = {"parameters": [{"what": "x", "more": "y"}]}
    job = ended(api, api.runCustomAction(customactionid=action, resourceid=instance, **given))
    assert player.asked[-1] == ("look", {"what": "x"})
    result = job["jobresult"]["customactionresult"]
    assert (job["jobstatus"], result["success"]) == (1, False)
    assert result["result"]["details"] == "Exit code: 3, Output: dark"


def test_nobody_is_asked_while_the_extension_is_disabled(api, made, player):
    instance = deployed(api, made)
    api.updateExtension(id=made.extension, state="Disabled")
    for call in (api.stopVirtualMachine, api.rebootVirtualMachine):
        assert ended(api, call(id=instance))["jobresultcode"] == 530
    assert [action for action, _ in player.asked] == ["deploy"]


def test_an_unregistered_cluster_s_instances_are_stopped_and_stuck(api, made, player):
    instance = deployed(api, made)
    api.unregisterExtension(
        extensionid=made.extension, resourceid=made.cluster, resourcetype="Cluster"
    )
    assert state_of(api, instance) == "Stopped"
    assert ended(api, api.startVirtualMachine(id=instance))["jobresultcode"] == 530
    job = ended(api, api.destroyVirtualMachine(id=instance, expunge=True))
    assert job["jobresult"]["errortext"].endswith("due to Extension not connected")
    assert [action for action, _ in player.asked] == ["deploy"]


def test_a_server_that_was_stopped_comes_back_with_all_that_it_knew(server, api, made):
    endpoint = server.endpoint
    server.stop()
    with pytest.raises(requests.ConnectionError):
        api.listZones()
    assert server.start().endpoint == endpoint
    assert api_of(server).listExtensions(id=made.extension)["count"] == 1
