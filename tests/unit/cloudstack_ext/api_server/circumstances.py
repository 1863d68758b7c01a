"""Under which circumstances the recorded answers were given, by command and by name."""

import re

from cloudstack_ext.api_server.call import Reply
from cloudstack_ext.api_server.jobs import Job
from cloudstack_ext.api_server.model.catalogue import (
    ExtensionState,
    OfferingState,
    Setting,
)
from cloudstack_ext.api_server.model.instances import InstanceState
from cloudstack_ext.api_server.model.places import ResourceState
from tests.unit.cloudstack_ext.api_server.recorded import every_network, moment, shown
from tests.unit.cloudstack_ext.api_server.recorded_people import PEOPLE
from tests.unit.cloudstack_ext.api_server.recorded_world import RECORDER

METAL_1, METAL_2 = "81e3bb6c-8fa3-49a4-9d5f-f5667ea5fdd5", "a4b3d02b-a4be-406f-830c-f0a27251fcbb"
ZZ_CLUSTER, ZZ_EXTENSION = (
    "07e6f9eb-4861-4ade-9d99-506a9da02091",
    "033af254-23d9-4d0f-8922-9faa3cb679af",
)
LATE_CLUSTER, LATE_EXTENSION = (
    "7b991e4a-7d49-407d-a054-a95eec67e3ab",
    "89af7edd-328f-40c4-969e-66bc65faa3c1",
)
POOL_B = "3967dc7f-2814-49cb-a690-4b09aec9264f"
TRAINER = "e562347c-134d-4d01-a903-12e4b7af7f49"
_NUMBERS = re.compile(r"i-\d+-(\d+)-VM")


def _deploy(world):
    for network in every_network().values():
        world.network(network)
    world.add(
        *(
            id_
            for id_, (kind, row) in shown().items()
            if kind == "host" and "External" in row["ipaddress"]
        )
    )
    text = str([world.pair.get("job_final"), world.pair["answer"]])
    number = _NUMBERS.search(text)
    world.state.numbers["instance"] = int(number[1]) - 1 if number else 0
    request = world.pair["request"]
    if "templateid" in request and request["templateid"] not in world.state.templates:
        world.stand_in_template(request["templateid"])
    offering = request.get("serviceofferingid")
    if offering is not None and offering not in world.state.offerings:
        world.stand_in_offering(offering, tags="poolb")


def _change_before(world):
    """An update starts from other values than those that it leaves."""
    state, request = world.state, world.pair["request"]
    wrong = {"older": "value"}
    for extension in (state.extensions.get(request.get("id")),):
        if extension is not None:
            extension.state = (
                ExtensionState.DISABLED
                if request.get("state") == "Enabled"
                else ExtensionState.ENABLED
            )
            if "details[0].other" in request:
                extension.details = wrong
    host = state.hosts.get(request.get("id"))
    if host is not None:
        asked = request.get("allocationstate")
        host.state = ResourceState.ENABLED if asked == "Disable" else host.state
        host.state = ResourceState.DISABLED if asked == "Enable" else host.state
        host.tags = ("older",) if "hosttags" in request else host.tags
        host.details = wrong if any("externaldetails" in each for each in request) else host.details
    offering = state.offerings.get(request.get("id"))
    if offering is not None:
        asked = request.get("state")
        offering.state = OfferingState.INACTIVE if asked == "Active" else OfferingState.ACTIVE
        offering.details = offering.details if asked else {"External:older": "value"}
    action = state.actions.get(request.get("id"))
    if action is not None:
        action.enabled = request["enabled"] == "false"
        action.roles = ("Admin",)


def _change_template(world):
    template = world.state.templates[world.pair["request"]["id"]]
    if any(each.startswith("details[") for each in world.pair["request"]):
        template.details = {"External:older": "value", "other": "value"}


def _change_instance(world):
    instance = _instance_of(world)
    request = world.pair["request"]
    if any(each.startswith("details[") for each in request):
        instance.details = {"External:older": "value"}
    instance.protected, instance.shown = False, True


def _settings(world):
    rows = [
        row
        for part in world.pair["answer"].values()
        for row in part.get("configuration", ())
        if isinstance(row, dict)
    ]
    for row in rows:
        world.state.settings[row["name"]] = Setting(
            name=row["name"],
            value=row.get("value"),
            default=row.get("defaultvalue"),
            kind=row["type"],
            dynamic=row["isdynamic"],
            description=row["description"],
            component=row["component"],
            category=row["category"],
            group=row["group"],
            subgroup=row["subgroup"],
            options=row.get("options"),
        )


def _instance_of(world):
    request = world.pair["request"]
    id_ = request.get("id", request.get("resourceid", request.get("virtualmachineid")))
    if id_ not in world.state.instances:
        world.add(id_)
    if id_ not in world.state.instances:
        world.stand_in_instance(id_)
    return world.state.instances[id_]


def _is(state, *, on_host=None):
    def change(world):
        instance = _instance_of(world)
        instance.state = state
        home = on_host or instance.host or instance.last_host
        world.add(*({home} - set(world.state.hosts)))
        instance.host = home if state is InstanceState.RUNNING else None
        instance.last_host = home

    return change


def _pool_b(world):
    instance = _instance_of(world)
    world.add(POOL_B)
    world.state.hosts[POOL_B].state = ResourceState.ENABLED
    instance.last_host = POOL_B
    instance.host = POOL_B if instance.state is InstanceState.RUNNING else None


def _says(success, output):
    def change(world):
        world.reply = Reply(success=success, output=output)

    return change


def _disabled(world):
    for extension in world.state.extensions.values():
        extension.state = ExtensionState.DISABLED


def _path_missing(world):
    for extension in world.state.extensions.values():
        extension.path_ready = False


def _no_host(world):
    world.state.hosts.clear()


def _unregistered(cluster):
    def change(world):
        world.state.registrations.pop(cluster, None)

    return change


def _registered(cluster, extension):
    def change(world):
        if extension not in world.state.extensions:
            world.add(extension)
        if cluster not in world.state.clusters:
            world.add(cluster)
        if cluster not in world.state.clusters:
            world.stand_in_cluster(cluster)
        world.register(cluster, extension)

    return change


def _maintained(world):
    for host in world.state.hosts.values():
        host.state = ResourceState.ERROR_IN_MAINTENANCE


def _working(world):
    for host in world.state.hosts.values():
        host.state = ResourceState.ENABLED


def _as_last_job(world):
    final = world.pair["job_final"]
    job = Job(
        id=final["jobid"],
        command="deployVirtualMachine",
        caller={
            name: final[name]
            for name in ("accountid", "account", "domainid", "domainpath", "userid")
        },
        server=(final["managementserverid"], final["managementservername"]),
        created=moment(final["created"]),
        kind="VirtualMachine",
        entity=final["jobinstanceid"],
    )
    job.cut_off(moment(final["completed"]))
    world.state.jobs[job.id] = job


def _user_data(world):
    answer = world.pair["answer"]["getvirtualmachineuserdataresponse"]
    _instance_of(world).user_data = answer["virtualmachineuserdata"]["userdata"]


def _before_assign(world):
    instance = _instance_of(world)
    instance.account = PEOPLE["alice"][1]
    for nic in instance.nics:
        nic.id = "0e000000-0000-4000-8000-000000000001"


def _two_gpus(most, used):
    def change(world):
        world.state.limits["gpu"] = most
        request = world.pair["request"]
        offering = world.state.offerings[request["serviceofferingid"]]
        spent = world.stand_in_offering("0f000000-0000-4000-8000-000000000001", tags="h200")
        spent.gpus = used
        instance = world.stand_in_instance("0f000000-0000-4000-8000-000000000002")
        instance.offering, instance.account = spent.id, PEOPLE["alice"][1]
        offering.gpus = offering.gpus or 1

    return change


def _inactive(world):
    world.state.offerings[world.pair["request"]["id"]].state = OfferingState.INACTIVE


def _hidden(world):
    _instance_of(world).shown = False


def _runnable(world):
    _is(InstanceState.RUNNING)(world)
    for action in world.state.actions.values():
        action.enabled, action.roles = True, ("Admin", "DomainAdmin", "User")


def _big_output(world):
    _instance_of(world).internal_name = "i-7-32-VM"
    world.reply = Reply(success=False, output="Timeout")


def _denied(world):
    setting = world.state.settings["user.vm.denied.details"]
    setting.value = f"{setting.value},deployvm,External:gpu_profile"


def _for_admins(world):
    for action in world.state.actions.values():
        action.roles = ("Admin",)


def _without_user_data(world):
    instance = _instance_of(world)
    for row in every_network().values():
        if row["type"] == "L2":
            world.network(row)
            instance.nics = [world.nic(row)]


def _late_offering(world):
    world.state.offerings[world.pair["request"]["serviceofferingid"]].tags = "poolb"
    for host in world.state.hosts.values():
        host.connected = False


def _only_pool_b(world):
    world.state.hosts = {POOL_B: world.state.hosts[POOL_B]}


def _no_tags_there(world):
    world.state.offerings[world.pair["request"]["serviceofferingid"]].tags = "nowhere"
    world.stand_in_template(world.pair["request"]["templateid"])


BY_COMMAND = {
    "deployVirtualMachine": _deploy,
    "updateExtension": _change_before,
    "updateHost": _change_before,
    "updateServiceOffering": _change_before,
    "updateCustomAction": _change_before,
    "updateTemplate": _change_template,
    "updateVirtualMachine": _change_instance,
    "listConfigurations": _settings,
    "getVirtualMachineUserData": _user_data,
    "startVirtualMachine": _is(InstanceState.STOPPED),
    "stopVirtualMachine": _is(InstanceState.RUNNING),
    "rebootVirtualMachine": _is(InstanceState.RUNNING),
    "destroyVirtualMachine": _is(InstanceState.RUNNING),
    "recoverVirtualMachine": _is(InstanceState.DESTROYED),
    "runCustomAction": _runnable,
    "assignVirtualMachine": _before_assign,
    "prepareHostForMaintenance": _working,
    "cancelHostMaintenance": _maintained,
}
_DONE = '{{"status": "success", "message": "{} done"}}'
BY_NAME = {
    "error_addHost_cluster_not_registered": _unregistered(METAL_2),
    "addHost_External_allocationstate_disabled": _registered(ZZ_CLUSTER, ZZ_EXTENSION),
    "addHost_path_not_ready": _registered(LATE_CLUSTER, LATE_EXTENSION),
    "error_addHost_same_url_twice": lambda world: world.add("1871b8f0-dbfb-4a66-9c17-928f2f7f0fe0"),
    "createProject": lambda world: world.state.numbers.update(project=2),
    "createServiceOffering_same_name_again": lambda world: world.add(
        "0e17d38d-a8fb-4401-a288-2aec9cb3e0a0"
    ),
    "deleteCluster": _registered(ZZ_CLUSTER, ZZ_EXTENSION),
    "error_deleteCluster_with_host": lambda world: world.add(
        "67744582-a75d-4f7d-af84-dbf37f61ca9c"
    ),
    "error_deleteExtension_in_use": _registered(METAL_1, RECORDER),
    "error_deleteExtension_with_resources": _registered(ZZ_CLUSTER, ZZ_EXTENSION),
    "deleteHost_in_maintenance": _maintained,
    "deleteHost_with_vms_not_in_maintenance": _working,
    "error_deleteHost_not_in_maintenance": _working,
    "registerExtension": _unregistered(METAL_2),
    "unregisterExtension.": _registered(METAL_2, RECORDER),
    "unregisterExtension_from_cluster": _registered(ZZ_CLUSTER, ZZ_EXTENSION),
    "queryAsyncJobResult_after": _as_last_job,
    "listServiceOfferings_inactive": _inactive,
    "hidden_by_displayvm": _hidden,
    "deployVirtualMachine_create": _says(False, "Exit code: 1, Output: no such server"),
    "deployVirtualMachine_create_times_out": _says(False, "Timeout"),
    "entry_script_missing": _path_missing,
    "extension_disabled": _disabled,
    "only_tagged_host_in_maintenance": _maintained,
    "host_added_while_not_ready": _late_offering,
    "gpu_limit_exceeded": _two_gpus(4, 4),
    "gpu_count_larger_than_any_host": _two_gpus(20, 1),
    "gpu_tag_nowhere": _no_tags_there,
    "destroyVirtualMachine_expunge_delete_fails": _is(InstanceState.STOPPED),
    "delete_fails": _says(False, "Exit code: 1, Output: quarantine service not reachable"),
    "destroyVirtualMachine_while_starting": _is(InstanceState.RUNNING),
    "destroyVirtualMachine_expunge_last_host_deleted": _is(InstanceState.STOPPED),
    "last_host_deleted": _no_host,
    "error_destroyVirtualMachine_protected": lambda world: setattr(
        _instance_of(world), "protected", True
    ),
    "rebootVirtualMachine_e": _pool_b,
    "script_fails": _says(False, "Exit code: 1, Output: no"),
    "rebootVirtualMachine_script_fails": _says(
        False, "Exit code: 1, Output: and stderr line\nreboot refused by BMC"
    ),
    "stopVirtualMachine_script_fails_forced": _says(
        False, "Exit code: 1, Output: stop refused by BMC"
    ),
    "error_stop_stopped_vm": _is(InstanceState.STOPPED),
    "error_start_running_vm": _is(InstanceState.RUNNING),
    "startVirtualMachine_after_unregister": _unregistered(METAL_1),
    "startVirtualMachine_host_in_maintenance": _maintained,
    "runCustomAction_host_in_maintenance": _maintained,
    "runCustomAction_on_stopped_vm": _is(InstanceState.STOPPED),
    "runCustomAction_": _says(True, _DONE.format("sel log")),
    "runCustomAction_action_named_delete": _says(True, _DONE.format("delete")),
    "runCustomAction_success_as_user": _says(True, _DONE.format("power-cycle")),
    "runCustomAction_printmessage": _says(
        True,
        '{"status":"success","printmessage":"true","message":[{"time":"t","event":"fan"}]}',
    ),
    "runCustomAction_script_fails": _says(
        False, 'Exit code: 3, Output: {"status":"error","message":"BMC not reachable"}'
    ),
    "runCustomAction_timeout": _says(False, "Timeout"),
    "runCustomAction_output_70000": _big_output,
    "runCustomAction_grandchild": _says(False, "Running custom action timed out, please try again"),
    "runCustomAction_extension_disabled": _disabled,
    "runCustomAction_admin_only": _for_admins,
    "updateVirtualMachine_userdata_nosvc": _without_user_data,
    "denied_detail": _denied,
    "error_530_updateVirtualMachine": _denied,
}
