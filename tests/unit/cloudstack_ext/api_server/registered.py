"""A registration as the tests of the server need one."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Made:
    """Ids."""

    zone: str
    extension: str
    cluster: str
    host: str
    action: str
    template: str
    offering: str


def register(api, name="rackwright", tag="a"):
    zone = api.listZones()["zone"][0]["id"]
    pod = api.listPods(zoneid=zone)["pod"][0]["id"]
    os_type = api.listOsTypes(keyword="Ubuntu")["ostype"][0]["id"]
    extension = api.createExtension(
        name=name,
        type="Orchestrator",
        path="entry",
        orchestratorrequirespreparevm=True,
        details={"rackwright": "mark"},
    )["extension"]["id"]
    cluster = api.addCluster(
        zoneid=zone,
        podid=pod,
        clustername=f"{name}-1",
        clustertype="CloudManaged",
        hypervisor="External",
        extensionid=extension,
    )["cluster"][0]["id"]
    host = api.addHost(
        zoneid=zone,
        podid=pod,
        clusterid=cluster,
        hypervisor="External",
        url=f"{name}-{tag}",
        username="none",
        password="none",
        hosttags=[tag],
        externaldetails={"pool": tag},
    )["host"][0]["id"]
    action = api.addCustomAction(
        extensionid=extension, name="why", enabled=True, allowedroletypes=["User"]
    )["extensioncustomaction"]["id"]
    template = api.registerTemplate(
        name="ubuntu",
        hypervisor="External",
        format="External",
        url="http://images.invalid/none",
        ostypeid=os_type,
        zoneid=zone,
        extensionid=extension,
        ispublic=True,
        externaldetails={"image": "ubuntu"},
    )["template"][0]["id"]
    offering = api.createServiceOffering(
        name="metal.large",
        cpunumber=4,
        cpuspeed=2000,
        memory=4096,
        hosttags=tag,
        externaldetails={"size": "large"},
    )["serviceoffering"]["id"]
    return Made(zone, extension, cluster, host, action, template, offering)
