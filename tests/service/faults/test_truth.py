"""The service asks a CloudStack by the key it was given: real entry, service, API and library."""

import base64
import json
from dataclasses import replace

import pytest

from cloudstack_ext.api_server.server import ApiServer
from cloudstack_ext.contract import DETAILS, Verb
from cloudstack_ext.lab.instances import instance_of
from cloudstack_ext.lab.payload import lab_payload
from cloudstack_ext.management_server.wire import wire
from tests.service.faults.asked import SITE, Asked

pytestmark = pytest.mark.emulated


@pytest.fixture
def asked(site):
    site.start()
    with ApiServer() as server:
        yield Asked(site, server)


def test_a_create_takes_owner_size_and_image_from_cloudstack(asked):
    data = base64.b64encode(b"#cloud-config\n").decode()
    instance = asked.deploy("trainer", userdata=data)
    answer = asked.call("create", instance)
    assert answer.exit == 0, answer.text
    query = "SELECT owner, size, truth FROM allocation WHERE instance = ?"
    ((owner, size, truth),) = asked.site.rows(query, instance)
    assert owner == "ROOT/admin"
    assert size == "large"
    assert asked.made.offering in truth


def test_an_image_that_a_tenant_wrote_over_the_templates_is_refused(asked):
    instance = asked.deploy("trainer")
    answer = asked.call("create", instance, image="ubuntu-24.04-cuda")
    assert answer.code == "IMAGE_DIFFERS"
    assert "tiny" in answer.text
    assert set(asked.site.states().values()) == {"AVAILABLE"}


def test_a_foreign_offering_is_refused(asked):
    foreign = asked.api.createServiceOffering(
        name="metal.large", cpunumber=4, cpuspeed=2000, memory=4096, hosttags="a"
    )["serviceoffering"]["id"]
    instance = asked.deploy("trainer", offering=foreign)
    assert asked.call("create", instance).code == ("OFFERING_FOREIGN")


def test_a_start_goes_on_while_the_api_is_away(asked):
    instance = asked.deploy("trainer")
    assert asked.call("create", instance).exit == 0
    asked.server.stop()
    assert asked.call("stop", instance).exit == 0
    assert asked.call("start", instance).exit == 0


@pytest.mark.parametrize("case", ["unprotected", "protected", "unknown"])
def test_a_delete_asks_whether_the_instance_is_protected(asked, case):
    """CloudStack sends it for protected ones too, when a project or an account is deleted."""
    instance = asked.deploy("trainer")
    assert asked.call("create", instance).exit == 0
    if case == "protected":
        asked.server.state.instances[instance].protected = True
    if case == "unknown":
        asked.server.stop()
    assert asked.call("delete", instance).exit == 0
    query = "SELECT protection FROM allocation WHERE instance = ?"
    assert asked.site.rows(query, instance) == [(case,)]
    if case == "unprotected":
        asked.site.until_state("s1", "AVAILABLE")
    else:
        asked.site.rack.log.until("s1 power off")
        assert asked.site.states()["s1"] == "RELEASING"


@pytest.mark.parametrize("case", ["unprotected", "protected", "unknown"])
def test_a_delete_while_the_api_is_away_goes_by_the_last_list(site, case):
    site.configure(reconcile_every_s=1.0)
    site.start()
    with ApiServer() as server:
        asked = Asked(site, server)
        instance = asked.deploy("trainer")
        assert asked.call("create", instance).exit == 0
        with server.state.lock:
            kept = server.state.instances[instance]
            kept.host, kept.protected = asked.made.host, case == "protected"
            if case == "unknown":
                del server.state.instances[instance]
        asked.until_listed()
    assert asked.call("delete", instance).exit == 0
    query = "SELECT protection FROM allocation WHERE instance = ?"
    assert site.rows(query, instance) == [(case,)]
    if case == "unprotected":
        site.until_state("s1", "AVAILABLE")


def test_an_action_is_confirmed_by_the_name_that_its_owner_gave_it(asked):
    instance = asked.deploy("trainer")
    assert asked.call("create", instance).exit == 0

    def power_cycle(confirm):
        named = replace(instance_of("trainer"), uuid=instance)
        body = json.loads(lab_payload(Verb.STATUS, named))
        body[DETAILS]["state"] = "Running"
        body |= {"action": "power-cycle", "parameters": {"confirm": confirm}}
        return asked.site.send("power-cycle", wire(body), 20)

    assert power_cycle("trainee").code == "PAYLOAD_FIELD"
    assert power_cycle("trainer").exit == 0
    asked.server.stop()
    assert power_cycle("trainer").code == "PAYLOAD_FIELD"
    assert power_cycle(instance).exit == 0


def test_a_create_waits_for_an_api_that_comes_back(asked):
    instance = asked.deploy("trainer")
    asked.server.stop()
    refused = asked.call("create", instance, wait=8)
    assert refused.code == "TRUTH_SILENT"
    assert set(asked.site.states().values()) == {"AVAILABLE"}


def test_the_key_comes_back_without_its_secret_and_can_be_removed(asked):
    told = asked.site.client.ask("GET", f"/v1/sites/{SITE}/key")
    assert told["key"] == asked.server.key.key
    assert asked.server.key.secret.reveal() not in str(told)
    asked.site.client.ask("DELETE", f"/v1/sites/{SITE}/key")
    asked.server.stop()
    assert asked.site.call("create", "anybody").exit == 0
