"""deployVirtualMachine: the record at once, the machine as a job."""

from collections.abc import Mapping
from types import MappingProxyType

from cloudstack_ext.api_server import refusals
from cloudstack_ext.api_server.call import Call, Handler, Work
from cloudstack_ext.api_server.handlers.instance_jobs import KIND, OBJECT, started
from cloudstack_ext.api_server.handlers.instance_view import KEYPAIRS, view
from cloudstack_ext.api_server.handlers.instances import check_user_data, next_mac
from cloudstack_ext.api_server.handlers.offerings import living_offerings
from cloudstack_ext.api_server.handlers.templates import living_templates
from cloudstack_ext.api_server.limits import refuse_over
from cloudstack_ext.api_server.model.accounts import Account
from cloudstack_ext.api_server.model.catalogue import Offering
from cloudstack_ext.api_server.model.instances import Instance, Network, Nic
from cloudstack_ext.api_server.state import new_id
from cloudstack_ext.api_server.wire import external

_FIRST_ADDRESS = 10
_DEPLOY = "deployvm"


def deploy(call: Call) -> Work:
    """The answer names the instance, which is there from now on."""
    zone = call.found("zoneid", call.state.zones)
    template = call.found("templateid", living_templates(call))
    offering = call.found("serviceofferingid", living_offerings(call))
    if call.values.text("hostid") is not None and not call.root:
        text = "Parameter hostid can only be specified by a Root Admin, permission denied"
        raise refusals.not_permitted(text)
    project = call.found_if_given("projectid", call.state.projects)
    account = call.state.accounts[project.account if project else call.caller.account]
    networks = _networks(call)
    _check(call, account, offering, networks[0])
    number = call.state.next_number("instance")
    name = call.values.text("name") or f"VM-{new_id()}"
    instance = Instance(
        id=new_id(),
        number=number,
        name=name,
        display_name=call.values.text("displayname") or name,
        internal_name=f"i-{account.number}-{number}-VM",
        account=account.id,
        user=call.caller.id,
        project=project.id if project else None,
        zone=zone.id,
        template=template.id,
        offering=offering.id,
        created=call.now,
        nics=[_nic(call, network, index) for index, network in enumerate(networks)],
        user_data=call.values.text("userdata"),
    )
    instance.details = _details(call, template.details)
    call.state.instances[instance.id] = instance
    if call.values.flag("startvm") is False:
        return Work(
            finish=lambda _replies: {OBJECT: view(call, instance)},
            kind=KIND,
            entity=instance.id,
            stamped=OBJECT,
            answer={"id": instance.id},
        )
    return started(call, instance, answer={"id": instance.id})


def _details(call: Call, template: Mapping[str, str]) -> dict[str, str]:
    """The tenant's win over the template's; `deployvm` has no effect here."""
    values = call.values
    details = {**template, **(values.map("details") or {})}
    details |= external(values.map("externaldetails") or {})
    details.pop(_DEPLOY, None)
    if (values.text("boottype") or "").upper() == "UEFI":
        details["UEFI"] = (values.text("bootmode") or "LEGACY").upper()
    name = values.text("keypair")
    if name is not None:
        details["SSH.PublicKey"] = call.state.keypairs[name]
        details[KEYPAIRS] = name
    return details


def _networks(call: Call) -> list[Network]:
    named = call.values.words("networkids")
    if named:
        return [call.id_in("networkids", each, call.state.networks) for each in named]
    return list(call.state.networks.values())[:1]


def _check(call: Call, account: Account, offering: Offering, network: Network) -> None:
    user_data, keypair = call.values.text("userdata"), call.values.text("keypair")
    where = f"in the default network {network.name}/{network.id}"
    if keypair is not None and keypair not in call.state.keypairs:
        raise refusals.invalid(f"A key pair with name '{keypair}' does not exist")
    if user_data is not None:
        check_user_data(call, user_data)
    if user_data is not None and not network.user_data:
        raise refusals.invalid(
            "Unable to deploy VM as UserData is provided while deploying the VM, but there is no"
            f" support for UserData service {where}."
        )
    if keypair is not None and not network.user_data:
        raise refusals.invalid(
            "Unable to deploy VM as SSH keypair is provided while deploying the VM, but there is no"
            f" support for UserData service {where}"
        )
    if not call.root:
        _within_limits(call, account, offering)


def _within_limits(call: Call, account: Account, offering: Offering) -> None:
    offerings = [
        call.state.offerings[each.offering]
        for each in call.state.living()
        if each.account == account.id
    ]
    wanted = {"cpu": offering.cpus, "gpu": offering.gpus or 0}
    used = {
        "cpu": sum(each.cpus for each in offerings),
        "gpu": sum(each.gpus or 0 for each in offerings),
    }
    for resource, more in wanted.items():
        refuse_over(call, account, resource, used=used[resource], wanted=more)


def _nic(call: Call, network: Network, index: int) -> Nic:
    address = None
    if network.gateway is not None:
        number = _FIRST_ADDRESS - 1 + call.state.next_number(f"address of {network.id}")
        wanted = call.values.text("ipaddress") if index == 0 else None
        address = wanted or f"{network.gateway.rpartition('.')[0]}.{number}"
    mac = call.values.text("macaddress") if index == 0 else None
    return Nic(
        id=new_id(), network=network.id, mac=mac or next_mac(call), number=index, address=address
    )


COMMANDS: Mapping[str, Handler] = MappingProxyType({"deployVirtualMachine": deploy})
