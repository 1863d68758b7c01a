"""Instances as records: listed, changed, given to another owner."""

from collections.abc import Mapping
from types import MappingProxyType

from cloudstack_ext.api_server import refusals
from cloudstack_ext.api_server.call import Call, Handler
from cloudstack_ext.api_server.handlers.instance_view import (
    denied_details,
    is_over,
    view,
    visible,
)
from cloudstack_ext.api_server.handlers.offerings import living_offerings
from cloudstack_ext.api_server.model.accounts import Account
from cloudstack_ext.api_server.model.instances import Instance, InstanceState
from cloudstack_ext.api_server.permissions import may_see
from cloudstack_ext.api_server.state import new_id
from cloudstack_ext.api_server.wire import Wire, has_keyword, listing, matches

_EVERY_PROJECT = "-1"
_LONGEST_USER_DATA = "vm.userdata.max.length"


def list_(call: Call) -> Wire:
    """listVirtualMachines: an empty answer is no proof of absence.

    Hidden are those in projects (unless `projectid` is -1 or theirs), those with displayvm=false
    (unless asked for), and what the caller may not see.
    """
    wanted = call.found_if_given("id", call.state.instances)
    if call.values.text("projectid") not in {None, _EVERY_PROJECT}:
        call.found("projectid", call.state.projects)
    account = named_account(call)
    rows = [
        view(call, each)
        for each in call.state.living()
        if _is_within(call, each, account, wanted) and _is_wanted(call, each)
    ]
    return listing("virtualmachine", rows, call.values)


def update(call: Call) -> Wire:
    """updateVirtualMachine: details replace the whole set, the template's among them."""
    instance = visible(call, "id")
    values = call.values
    details = values.map("details")
    if details is not None and not call.root and denied_details(call) & set(details):
        raise refusals.internal()
    if details is not None or values.flag("cleanupdetails"):
        instance.details = {} if values.flag("cleanupdetails") else dict(details or {})
    instance.name = values.text("name") or instance.name
    instance.display_name = values.text("displayname") or instance.display_name
    shown, protected = values.flag("displayvm"), values.flag("deleteprotection")
    instance.shown = instance.shown if shown is None or not call.root else shown
    instance.protected = instance.protected if protected is None else protected
    user_data = values.text("userdata")
    if user_data is not None:
        check_user_data(call, user_data)
        instance.user_data = user_data  # stored although it is refused
        network = call.state.networks[instance.nics[0].network] if instance.nics else None
        if network is not None and not network.user_data:
            raise refusals.internal()
    return {"virtualmachine": view(call, instance)}


def assign(call: Call) -> Wire:
    """assignVirtualMachine: new owner, same id and name; each NIC gets a new MAC."""
    instance = visible(call, "virtualmachineid")
    if instance.state is not InstanceState.STOPPED:
        raise refusals.invalid(f"VM is Running, unable to move the vm {instance.id}")
    project = call.found_if_given("projectid", call.state.projects)
    account = call.state.accounts[project.account] if project else named_account(call)
    if account is None:
        raise refusals.invalid("account and domainid, or projectid, must be given")
    instance.account = account.id
    instance.project = project.id if project else None
    for nic in instance.nics:
        nic.id, nic.mac = new_id(), next_mac(call)
    return {"virtualmachine": view(call, instance)}


def change_service(call: Call) -> Wire:
    """changeServiceForVirtualMachine: of a stopped one; its host stays the same."""
    instance = visible(call, "id")
    offering = call.found("serviceofferingid", living_offerings(call))
    if instance.state is not InstanceState.STOPPED:
        raise refusals.invalid(f"Operation not supported for instance: {instance.internal_name}")
    instance.offering = offering.id
    return {"virtualmachine": view(call, instance)}


def user_data_of(call: Call) -> Wire:
    """getVirtualMachineUserData: whatever the network, also for an administrator."""
    instance = visible(call, "virtualmachineid")
    text = {} if instance.user_data is None else {"userdata": instance.user_data}
    return {"virtualmachineuserdata": {"virtualmachineid": instance.id, **text}}


def next_mac(call: Call) -> str:
    """As CloudStack makes them: a prefix, and a number that only grows."""
    number = call.state.next_number("mac")
    return f"1e:00:6f:00:{number >> 8 & 0xFF:02x}:{number & 0xFF:02x}"


def check_user_data(call: Call, text: str) -> None:
    """The limit is on the base64 text."""
    most = int(call.state.settings[_LONGEST_USER_DATA].value or 0)
    if len(text) > most:
        raise refusals.invalid(f"User data has exceeded configurable max length: {most}")


def named_account(call: Call) -> Account | None:
    """Whose the parameters `account` and `domainid` ask for; None where they ask for nobody's."""
    name = call.values.text("account")
    if name is None:
        return None
    domain = call.values.text("domainid") or call.state.accounts[call.caller.account].domain
    for account in call.state.accounts.values():
        if account.name == name and account.domain == domain:
            if not may_see(call.state, call.caller, account):
                raise refusals.not_permitted()
            return account
    raise refusals.invalid(f"Unable to find account {name} in domain {domain}")


def _is_within(
    call: Call, instance: Instance, account: Account | None, wanted: Instance | None
) -> bool:
    """Whether the list reaches to this instance's owner."""
    state, project = call.state, call.values.text("projectid")
    if not may_see(state, call.caller, state.accounts[instance.account]):
        return False
    if instance.project is not None:
        return project in {_EVERY_PROJECT, instance.project}
    if project not in {None, _EVERY_PROJECT}:
        return False
    if account is not None:
        return instance.account == account.id
    reaches = call.values.flag("listall") or wanted is not None
    return bool(reaches) or instance.account == call.caller.account


def _is_wanted(call: Call, instance: Instance) -> bool:
    values, template = call.values, call.state.templates[instance.template]
    shown, ids = values.flag("displayvm"), values.words("ids")
    texts = {
        "id": instance.id,
        "name": instance.name,
        "state": instance.state.value,
        "zoneid": instance.zone,
        "hostid": instance.host,
        "templateid": instance.template,
        "serviceofferingid": instance.offering,
        "extensionid": template.extension,
        "hypervisor": template.hypervisor,
        "userid": instance.user,
    }
    return (
        matches(values, texts)
        and has_keyword(values, instance.name, instance.display_name)
        and (ids is None or instance.id in ids)
        and instance.shown is (True if shown is None or not call.root else shown)
        and (call.root or not is_over(instance))
    )


COMMANDS: Mapping[str, Handler] = MappingProxyType(
    {
        "listVirtualMachines": list_,
        "updateVirtualMachine": update,
        "assignVirtualMachine": assign,
        "changeServiceForVirtualMachine": change_service,
        "getVirtualMachineUserData": user_data_of,
    }
)
