"""`cs` drives the server as it drives the real one: from an empty zone to a registration."""

import pytest
from cs import CloudStackApiException

from tests.unit.cloudstack_ext.api_server.registered import register

pytestmark = pytest.mark.emulated


def test_everything_that_a_registration_makes_is_listed(api):
    made = register(api)
    extension = api.listExtensions(id=made.extension)["extension"][0]
    assert extension["pathready"]
    assert [each["id"] for each in extension["resources"]] == [made.cluster]
    cluster = api.listClusters(hypervisor="External")["cluster"][0]
    assert (cluster["id"], cluster["extensionid"]) == (made.cluster, made.extension)
    host = api.listHosts(clusterid=made.cluster)["host"][0]
    assert (host["state"], host["resourcestate"]) == ("Up", "Enabled")
    assert host["details"]["External:pool"] == "a"
    action = api.listCustomActions(extensionid=made.extension)["extensioncustomaction"][0]
    assert (action["name"], action["allowedroletypes"]) == ("why", ["Admin", "User"])
    template = api.listTemplates(templatefilter="all")["template"][0]
    assert template["details"] == {"External:image": "ubuntu"}
    offering = api.listServiceOfferings(name="metal.large")["serviceoffering"][0]
    assert offering["serviceofferingdetails"] == {"External:size": "large"}


def test_it_goes_in_the_order_of_removal_alone(api):
    made = register(api)
    for early in (
        lambda: api.deleteExtension(id=made.extension),
        lambda: api.deleteCluster(id=made.cluster),
        lambda: api.deleteHost(id=made.host),
    ):
        with pytest.raises(CloudStackApiException) as caught:
            early()
        assert caught.value.error["errorcode"] == 530
    api.deleteServiceOffering(id=made.offering)
    job = api.deleteTemplate(id=made.template)
    assert api.queryAsyncJobResult(jobid=job["jobid"])["jobresult"] == {"success": True}
    api.deleteCustomAction(id=made.action)
    api.prepareHostForMaintenance(id=made.host)
    assert api.deleteHost(id=made.host) == {"success": True}
    api.unregisterExtension(
        extensionid=made.extension, resourceid=made.cluster, resourcetype="Cluster"
    )
    assert api.deleteCluster(id=made.cluster) == {"success": True}
    assert api.deleteExtension(id=made.extension, cleanup=True) == {"success": True}
    assert api.listExtensions() == api.listClusters() == api.listHosts() == {}
    assert api.listTemplates(templatefilter="all") == api.listServiceOfferings() == {}


def test_actions_and_templates_keep_an_extension_too(api):
    made = register(api)
    api.unregisterExtension(
        extensionid=made.extension, resourceid=made.cluster, resourcetype="Cluster"
    )
    for obstacle in (
        lambda: api.deleteCustomAction(id=made.action),
        lambda: api.deleteTemplate(id=made.template),
    ):
        with pytest.raises(CloudStackApiException) as caught:
            api.deleteExtension(id=made.extension)
        assert caught.value.error["errorcode"] == 530
        obstacle()
    assert api.deleteExtension(id=made.extension) == {"success": True}


def test_a_template_that_instances_have_is_deleted_by_force_alone(api):
    made = register(api)
    api.deployVirtualMachine(
        zoneid=made.zone, templateid=made.template, serviceofferingid=made.offering
    )
    job = api.queryAsyncJobResult(jobid=api.deleteTemplate(id=made.template)["jobid"])
    assert (job["jobstatus"], job["jobresultcode"]) == (2, 431)
    job = api.queryAsyncJobResult(jobid=api.deleteTemplate(id=made.template, forced=True)["jobid"])
    assert job["jobstatus"] == 1
    assert api.listTemplates(templatefilter="all") == {}


def test_a_cluster_has_one_extension(api):
    made = register(api)
    other = api.createExtension(name="other", type="Orchestrator")["extension"]["id"]
    with pytest.raises(CloudStackApiException) as caught:
        api.registerExtension(extensionid=other, resourceid=made.cluster, resourcetype="Cluster")
    assert caught.value.error["errorcode"] == 530
    assert api.listClusters(id=made.cluster)["cluster"][0]["extensionid"] == made.extension


def test_a_zone_with_security_groups_takes_no_external_cluster(server, api):
    (zone,) = api.listZones()["zone"]
    with server.state.lock:
        server.state.zones[zone["id"]].security_groups = True
    with pytest.raises(CloudStackApiException) as caught:
        register(api)
    assert caught.value.error["errorcode"] == 431
    assert api.listClusters() == {}
