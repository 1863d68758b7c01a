"""The service asks a CloudStack by the key it was given: real entry, service, API and library."""

import base64
from dataclasses import replace

import pytest
from cs import CloudStack

from cloudstack_ext.api_server.server import ApiServer
from cloudstack_ext.contract import Verb
from cloudstack_ext.lab.instances import instance_of
from cloudstack_ext.lab.payload import lab_payload
from tests.unit.cloudstack_ext.api_server.registered import register

pytestmark = pytest.mark.emulated
SITE = "lab"


class Asked:
    """A site that asks an API server, at which everything is registered."""

    def __init__(self, site, server):
        self.site, self.server = site, server
        key = server.key
        self.api = CloudStack(
            server.endpoint, key=key.key, secret=key.secret.reveal(), method="post", timeout=5
        )
        self.made = register(self.api)
        (self.network,) = server.state.networks
        self._remember("template", "ubuntu", self.made.template, image="tiny")
        self._remember("offering", "large", self.made.offering, pool="a")
        body = {"endpoint": server.endpoint, "key": key.key, "secret": key.secret.reveal()}
        site.client.ask("PUT", f"/v1/sites/{SITE}/key", body)

    def deploy(self, name, **more):
        return self.api.deployVirtualMachine(
            zoneid=self.made.zone,
            templateid=more.pop("template", self.made.template),
            serviceofferingid=more.pop("offering", self.made.offering),
            networkids=self.network,
            name=name,
            startvm=False,
            **more,
        )["id"]

    def call(self, verb, instance, image="tiny", wait=60):
        """As the management server does for this very instance."""
        named = replace(instance_of("trainer", image=image), uuid=instance)
        return self.site.send(verb, lab_payload(Verb(verb), named), wait)

    def _remember(self, kind, name, outside_id, **facts):
        body = {"site": SITE, "kind": kind, "name": name, "facts": facts}
        number = self.site.client.ask("POST", "/v1/registered", body)["row"]["number"]
        told = {"outside_id": outside_id, "facts": facts}
        self.site.client.ask("PUT", f"/v1/registered/{number}", told)


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
