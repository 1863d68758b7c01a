"""An instance as answers show it, and who may see which."""

from cloudstack_ext.api_server import refusals
from cloudstack_ext.api_server.call import Call
from cloudstack_ext.api_server.model.instances import Instance, InstanceState, Network, Nic
from cloudstack_ext.api_server.permissions import may_see
from cloudstack_ext.api_server.wire import Wire, given, stamp

KEYPAIRS = "SSH.KeyPairNames"
DENIED = "user.vm.denied.details"
_MINIMUM = "min"
_LEFT_OUT_OF_MINIMUM = frozenset(
    {
        "cpunumber",
        "cpuspeed",
        "gpucount",
        "ipaddress",
        "memory",
        "passwordenabled",
        "serviceofferingid",
        "serviceofferingname",
        "templatedisplaytext",
        "templateformat",
        "templateid",
        "templatename",
        "templatetype",
    }
)
EXPUNGED: Wire = {
    "securitygroup": [],
    "nic": [],
    "affinitygroup": [],
    "deleteprotection": False,
    "tags": [],
}
"""What is left of an instance in the answer to its expunging."""


def visible(call: Call, name: str) -> Instance:
    """The instance that a parameter names.

    Raises:
        RefusalError: 431: there never was one; 531: somebody else's.
    """
    instance = call.found(name, call.state.instances)
    if not may_see(call.state, call.caller, call.state.accounts[instance.account]):
        raise refusals.not_permitted()
    if instance.removed:
        raise refusals.unknown_id(call.values.command, name, instance.id)
    return instance


def described(instance: Instance) -> str:
    """As error texts name it."""
    return (
        f'VM instance {{"id":{instance.number},"instanceName":"{instance.internal_name}",'
        f'"state":"{instance.state.value}","type":"User","uuid":"{instance.id}"}}'
    )


def view(call: Call, instance: Instance) -> Wire:
    """With what the caller may see; `details=min` leaves out what was bought."""
    wire = {**_who_and_where(call, instance), **_what(call, instance)}
    if call.values.command.startswith("list") and call.values.text("details") == _MINIMUM:
        kept = {name: part for name, part in wire.items() if name not in _LEFT_OUT_OF_MINIMUM}
        return {**kept, "nic": []}
    return wire


def _who_and_where(call: Call, instance: Instance) -> Wire:
    state = call.state
    account, user = state.accounts[instance.account], state.users[instance.user]
    domain, host = state.domains[account.domain], state.hosts.get(instance.host or "")
    project = state.projects.get(instance.project or "")
    for_root = (
        given(
            hostid=host.id if host else None,
            hostname=host.name if host else None,
            instancename=instance.internal_name,
            displayvm=instance.shown,
            arch=state.templates[instance.template].arch,
        )
        if call.root
        else {"readonlydetails": "dataDiskController, rootDiskController"}
    )
    return given(
        id=instance.id,
        name=instance.name,
        displayname=instance.display_name,
        account=None if project else account.name,
        projectid=project.id if project else None,
        project=project.name if project else None,
        userid=user.id,
        username=user.name,
        domainid=domain.id,
        domain=domain.name,
        domainpath=domain.path,
        created=stamp(instance.created),
        lastupdated=stamp(instance.updated) if instance.updated is not None else None,
        state=instance.state.value,
        haenable=False,
        zoneid=instance.zone,
        zonename=state.zones[instance.zone].name,
        hostcontrolstate=host.state.value if host else None,
        **for_root,
    )


def _what(call: Call, instance: Instance) -> Wire:
    state = call.state
    template, offering = state.templates[instance.template], state.offerings[instance.offering]
    os_type = state.os_types[template.os_type]
    firmware = instance.details.get("UEFI")
    return given(
        templateid=template.id,
        templatename=template.name,
        templatetype="USER",
        templateformat="EXTERNAL",
        templatedisplaytext=template.display_text,
        passwordenabled=False,
        serviceofferingid=offering.id,
        serviceofferingname=offering.name,
        cpunumber=offering.cpus,
        cpuspeed=offering.cpu_mhz,
        memory=offering.memory_mib,
        gpucount=offering.gpus,
        guestosid=os_type.id,
        securitygroup=[],
        nic=[_nic(state.networks[each.network], each) for each in instance.nics],
        hypervisor=template.hypervisor,
        ipaddress=instance.nics[0].address if instance.nics else None,
        details=_details(call, instance),
        keypairs=instance.details.get(KEYPAIRS),
        affinitygroup=[],
        isdynamicallyscalable=False,
        deleteprotection=instance.protected,
        ostypeid=os_type.id,
        osdisplayname=os_type.name,
        bootmode=firmware.lower() if firmware else None,
        boottype="Uefi" if firmware else None,
        receivedbytes=0,
        sentbytes=0,
        tags=[],
        hasannotations=any(each.entity == instance.id for each in state.annotations.values()),
    )


def _nic(network: Network, nic: Nic) -> Wire:
    uri = f"vlan://{network.vlan}" if nic.reserved else None
    return given(
        id=nic.id,
        networkid=network.id,
        networkname=network.name,
        netmask=network.netmask if nic.address else None,
        gateway=network.gateway if nic.address else None,
        ipaddress=nic.address,
        isolationuri=uri,
        broadcasturi=uri,
        traffictype="Guest",
        type=network.kind,
        isdefault=nic.number == 0,
        macaddress=nic.mac,
        secondaryip=[],
        extradhcpoption=[],
        deviceid=str(nic.number),
    )


def _details(call: Call, instance: Instance) -> Wire:
    if call.root:
        return dict(instance.details)
    hidden = denied_details(call)
    return {name: text for name, text in instance.details.items() if name not in hidden}


def denied_details(call: Call) -> frozenset[str]:
    """Names that users neither see nor change."""
    setting = call.state.settings[DENIED]
    return frozenset(each.strip() for each in (setting.value or setting.default or "").split(","))


def is_over(instance: Instance) -> bool:
    """Destroyed, whether or not anything of it is left."""
    return instance.removed or instance.state in {
        InstanceState.DESTROYED,
        InstanceState.EXPUNGING,
    }
