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
