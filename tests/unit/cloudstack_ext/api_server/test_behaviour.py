"""What a real management server was seen to do that nobody would guess: a test each."""

import pytest
from cs import CloudStackApiException

from cloudstack_ext.api_server.model.places import ManagementServer
from tests.unit.cloudstack_ext.api_server.conftest import api_of
from tests.unit.cloudstack_ext.api_server.registered import register

pytestmark = pytest.mark.emulated


def refused(call, **given):
    with pytest.raises(CloudStackApiException) as caught:
        call(**given)
    return caught.value.error["errorcode"], caught.value.error["errortext"]


def listed(answer):
    rows = [each for name, each in answer.items() if name != "count"]
    return [row["id"] for row in rows[0]] if rows else []


@pytest.fixture
def made(api):
    return register(api)


def deployed(api, made, **more):
    answer = api.deployVirtualMachine(
        zoneid=made.zone, templateid=made.template, serviceofferingid=made.offering, **more
    )
    return answer["id"]


def test_unknown_parameters_are_ignored(api):
    assert api.listZones(nosuchparameter="x")["count"] == 1


def test_the_answer_is_xml_unless_json_is_asked_for(api):
    text = api.listZones(name="zone1", json=False)
    assert text.startswith("<?xml")
    assert "<name>zone1</name>" in text
    assert "<securitygroupsenabled>false</securitygroupsenabled>" in text


def test_a_parameter_s_name_is_read_without_its_case(api):
    assert api.listZones(NAME="nowhere") == {}


def test_details_replace_the_whole_set(api, made):
    assert api.updateExtension(id=made.extension, details={"other": "1"})["extension"][
        "details"
    ] == {"other": "1"}
    host = api.updateHost(id=made.host, externaldetails={"other": "1"})["host"]
    assert {each for each in host["details"] if each.startswith("External:")} == {"External:other"}
    offering = api.updateServiceOffering(id=made.offering, externaldetails={"other": "1"})
    assert offering["serviceoffering"]["serviceofferingdetails"] == {"External:other": "1"}
    action = api.updateCustomAction(id=made.action, details={"a": "1"})
    action = api.updateCustomAction(id=made.action, details={"b": "2"})
    assert action["extensioncustomaction"]["details"] == {"b": "2"}
    instance = deployed(api, made)
    changed = api.updateVirtualMachine(id=instance, details={"x": "1"})["virtualmachine"]
    assert changed["details"] == {"x": "1"}


@pytest.mark.parametrize(
    ("command", "given"),
    [
        ("updateExtension", {"state": "Sleeping"}),
        ("updateServiceOffering", {"state": "Sleeping"}),
        ("updateHost", {"allocationstate": "Sleeping"}),
        ("updateCluster", {"allocationstate": "Sleeping"}),
        ("updateCustomAction", {"allowedroletypes": "Emperor"}),
    ],
)
def test_a_value_that_is_none_of_the_known_ones_changes_nothing(server, api, made, command, given):
    ids = {
        "updateExtension": made.extension,
        "updateServiceOffering": made.offering,
        "updateHost": made.host,
        "updateCluster": made.cluster,
        "updateCustomAction": made.action,
    }
    before = repr(server.state)
    assert refused(getattr(api, command), id=ids[command], **given)[0] == 431
    assert repr(server.state) == before


def test_what_is_not_given_stays(api, made):
    api.updateExtension(id=made.extension, state="Disabled")
    extension = api.listExtensions(id=made.extension)["extension"][0]
    assert (extension["state"], extension["details"]) == ("Disabled", {"rackwright": "mark"})


def test_an_update_of_a_template_takes_details_with_the_prefix_alone(api, made):
    api.updateTemplate(id=made.template, externaldetails={"image": "other"})
    (template,) = api.listTemplates(templatefilter="all", id=made.template)["template"]
    assert template["details"] == {"External:image": "ubuntu"}
    api.updateTemplate(id=made.template, **{"details[0].External:image": "other"})
    (template,) = api.listTemplates(templatefilter="all", id=made.template)["template"]
    assert template["details"] == {"External:image": "other"}


def test_instances_of_projects_are_hidden_from_a_list_of_all(server, api, made):
    alice = api_of(server, "alice")
    project = alice.createProject(name="p", displaytext="p")["id"]
    own, shared = deployed(alice, made), deployed(alice, made, projectid=project)
    assert listed(api.listVirtualMachines(listall=True)) == [own]
    assert listed(api.listVirtualMachines(listall=True, projectid="-1")) == [own, shared]
    assert listed(api.listVirtualMachines(listall=True, projectid=project)) == [shared]


def test_an_instance_with_displayvm_false_looks_like_an_expunged_one(api, made):
    hidden, gone = deployed(api, made), deployed(api, made)
    api.updateVirtualMachine(id=hidden, displayvm=False)
    api.destroyVirtualMachine(id=gone, expunge=True)
    assert api.listVirtualMachines(id=hidden) == api.listVirtualMachines(id=gone) == {}
    assert listed(api.listVirtualMachines(id=hidden, displayvm=False)) == [hidden]
    assert api.listVirtualMachines(id=gone, displayvm=False) == {}
    assert refused(api.listVirtualMachines, id="00000000-0000-0000-0000-000000000000")[0] == 431


def test_an_instance_in_state_error_is_listed(server, api, made):
    api.updateHost(id=made.host, hosttags="")
    instance = deployed(api, made)
    (shown,) = api.listVirtualMachines(id=instance)["virtualmachine"]
    assert shown["state"] == "Error"


def test_lists_filter_by_extension(api, made):
    instance = deployed(api, made)
    other = api.createExtension(name="other", type="Orchestrator")["extension"]["id"]
    assert listed(api.listVirtualMachines(listall=True, extensionid=made.extension)) == [instance]
    assert api.listVirtualMachines(listall=True, extensionid=other) == {}


def test_offerings_and_templates_of_the_same_name_are_accepted(api, made):
    again = {"cpunumber": 1, "cpuspeed": 100, "memory": 128}
    api.createServiceOffering(name="metal.large", **again)
    assert api.listServiceOfferings(name="metal.large")["count"] == 2
    (template,) = api.listTemplates(templatefilter="all")["template"]
    api.registerTemplate(
        name=template["name"],
        hypervisor="External",
        format="External",
        url="http://images.invalid/none",
        ostypeid=template["ostypeid"],
        zoneid=made.zone,
        extensionid=made.extension,
    )
    assert api.listTemplates(templatefilter="all", name=template["name"])["count"] == 2


def test_a_template_more_than_an_account_may_have_is_refused_and_a_root_admins_has_no_limit(
    server, api, made
):
    template = {"hypervisor": "External", "format": "External", "url": "http://none.invalid/"}
    (os_type,) = {each["ostypeid"] for each in api.listTemplates(templatefilter="all")["template"]}
    template |= {"ostypeid": os_type, "zoneid": made.zone, "extensionid": made.extension}
    with server.state.lock:
        server.state.limits["template"] = 1
    alice = api_of(server, "alice")
    alice.registerTemplate(name="first", **template)
    (row,) = alice.listAccounts()["account"]
    assert (row["templatelimit"], row["templatetotal"], row["templateavailable"]) == ("1", 1, "0")
    with pytest.raises(CloudStackApiException) as caught:
        alice.registerTemplate(name="second", **template)
    assert caught.value.error["errorcode"] == 535
    assert "Type = 'template', tag = 'null' for Account Name = alice" in str(caught.value)
    for name in ("second", "third"):
        api.registerTemplate(name=name, **template)
    (own,) = api.listAccounts()["account"]
    assert own["templateavailable"] == "Unlimited"


def test_names_of_extension_cluster_and_action_are_unique(api, made):
    pod = api.listPods()["pod"][0]["id"]
    cluster = {
        "zoneid": made.zone,
        "podid": pod,
        "clustername": "rackwright-1",
        "clustertype": "CloudManaged",
        "hypervisor": "External",
    }
    assert refused(api.createExtension, name="rackwright", type="Orchestrator")[0] == 530
    assert refused(api.addCluster, **cluster)[0] == 530
    assert refused(api.addCustomAction, extensionid=made.extension, name="why")[0] == 530


def test_a_label_is_one_host_s_for_ever(api, made):
    host = api.listHosts(id=made.host)["host"][0]
    again = {
        "zoneid": made.zone,
        "podid": host["podid"],
        "clusterid": made.cluster,
        "hypervisor": "External",
        "url": host["name"],
        "username": "none",
        "password": "none",
    }
    assert refused(api.addHost, **again) == (530, "Failed to add host")


def test_a_host_is_enabled_at_once_whatever_allocationstate_says(api, made):
    host = api.listHosts(id=made.host)["host"][0]
    (added,) = api.addHost(
        zoneid=made.zone,
        podid=host["podid"],
        clusterid=made.cluster,
        hypervisor="External",
        url="another",
        username="none",
        password="none",
        allocationstate="Disabled",
    )["host"]
    assert (added["state"], added["resourcestate"]) == ("Up", "Enabled")


@pytest.mark.parametrize("blank", ["username", "password"])
def test_a_host_needs_a_name_and_a_password_that_are_not_blank(api, made, blank):
    host = api.listHosts(id=made.host)["host"][0]
    given = {
        "zoneid": made.zone,
        "podid": host["podid"],
        "clusterid": made.cluster,
        "hypervisor": "External",
        "url": "another",
        "username": "none",
        "password": "none",
    }
    assert refused(api.addHost, **{**given, blank: " "})[0] == 431


def test_an_empty_list_of_tags_clears_them(api, made):
    assert "hosttags" in api.listHosts(id=made.host)["host"][0]
    assert "hosttags" not in api.updateHost(id=made.host, hosttags="")["host"]


@pytest.mark.parametrize(("length", "code"), [(255, None), (256, 431)])
def test_an_annotation_holds_255_characters(api, made, length, code):
    given = {"entitytype": "HOST", "entityid": made.host, "annotation": "x" * length}
    if code is None:
        assert api.addAnnotation(**given)["annotation"]["annotation"] == "x" * length
    else:
        assert refused(api.addAnnotation, **given)[0] == code


def test_the_apis_that_are_listed_are_those_that_the_key_may_call(server, api):
    def names(caller):
        return {each["name"] for each in caller.listApis()["api"]}

    alice = api_of(server, "alice")
    assert {"createExtension", "deployVirtualMachine"} <= names(api)
    assert "deployVirtualMachine" in names(alice)
    assert "createExtension" not in names(alice)
    assert "listEvents" not in names(api), "known, but not served here"


def test_a_role_of_one_s_own_may_do_what_its_rules_say(server, api):
    role = api.createRole(name="rackwright", type="Admin")["role"]["id"]
    for rule, permission in (
        ("listVirtualMachines", "allow"),
        ("listUsers", "deny"),
        ("list*", "allow"),
    ):
        api.createRolePermission(roleid=role, rule=rule, permission=permission)
    rules = api.listRolePermissions(roleid=role)["rolepermission"]
    assert [each["rule"] for each in rules] == ["listVirtualMachines", "listUsers", "list*"]
    account = api.createAccount(
        username="rackwright",
        firstname="r",
        lastname="w",
        email="r@example.invalid",
        password="none",
        roleid=role,
    )["account"]
    keys = api.registerUserKeys(id=account["user"][0]["id"])["userkeys"]
    assert api.getUserKeys(id=account["user"][0]["id"])["userkeys"] == keys
    service = api_of(server, "rackwright")
    assert service.key == keys["apikey"]
    assert service.listVirtualMachines() == {}
    assert service.listZones()["count"] == 1
    assert refused(service.listUsers)[0] == 432
    assert refused(service.createExtension, name="x", type="Orchestrator")[0] == 432
    assert {each["name"] for each in service.listApis()["api"]} >= {"listZones"}


def test_the_admin_of_a_domain_sees_its_instances_and_a_user_its_own(server, api, made):
    alice, bob = api_of(server, "alice"), api_of(server, "bob")
    theirs, his = deployed(alice, made), deployed(bob, made)
    roots = deployed(api, made)
    assert listed(api_of(server, "dadmin").listVirtualMachines(listall=True)) == [theirs, his]
    assert listed(alice.listVirtualMachines(listall=True)) == [theirs]
    assert listed(api.listVirtualMachines()) == [roots], "without listall: one's own"
    assert refused(bob.stopVirtualMachine, id=theirs)[0] == 531


def test_assignment_keeps_who_deployed_it_and_changes_the_mac(server, api, made):
    instance = deployed(api_of(server, "alice"), made)
    api.stopVirtualMachine(id=instance)
    (before,) = api.listVirtualMachines(id=instance)["virtualmachine"]
    after = api.assignVirtualMachine(
        virtualmachineid=instance, account="bob", domainid=before["domainid"]
    )["virtualmachine"]
    assert (after["account"], after["username"]) == ("bob", "alice")
    assert after["nic"][0]["macaddress"] != before["nic"][0]["macaddress"]
    assert after["nic"][0]["ipaddress"] == before["nic"][0]["ipaddress"]


def test_a_deleted_project_takes_protected_instances_with_it(server, api, made):
    alice = api_of(server, "alice")
    project = alice.createProject(name="p")["id"]
    instance = deployed(alice, made, projectid=project)
    alice.updateVirtualMachine(id=instance, deleteprotection=True)
    job = api.queryAsyncJobResult(**api.destroyVirtualMachine(id=instance))
    assert (job["jobstatus"], job["jobresultcode"]) == (2, 431)
    alice.deleteProject(id=project)
    assert api.listVirtualMachines(id=instance, projectid="-1") == {}


def test_user_data_is_there_whatever_the_network(api, made):
    instance = deployed(api, made, userdata="aGVsbG8=")
    answer = api.getVirtualMachineUserData(virtualmachineid=instance)
    assert answer["virtualmachineuserdata"]["userdata"] == "aGVsbG8="


def test_the_planner_takes_the_first_tag_and_counts_nobody(api, made):
    api.updateServiceOffering(id=made.offering, hosttags="a,nowhere")
    instances = [deployed(api, made) for _ in range(3)]
    hosts = {api.listVirtualMachines(id=each)["virtualmachine"][0]["hostid"] for each in instances}
    assert hosts == {made.host}


def test_a_host_of_stopped_instances_ends_in_an_error_of_maintenance(api, made, server, clock):
    deployed(api, made)
    job = api.queryAsyncJobResult(**api.prepareHostForMaintenance(id=made.host))
    assert job["jobresult"]["host"]["resourcestate"] == "PrepareForMaintenance"
    assert api.listHosts(id=made.host)["host"][0]["resourcestate"] == "ErrorInMaintenance"
    assert api.listVirtualMachines(listall=True)["virtualmachine"][0]["state"] == "Stopped"
    api.cancelHostMaintenance(id=made.host)
    assert api.listHosts(id=made.host)["host"][0]["resourcestate"] == "Enabled"


def test_every_management_server_is_listed_and_says_nothing_of_its_files(server, api):
    with server.state.lock:
        other = ManagementServer(id="0a", name="ms2", address="192.0.2.2", state="Down")
        server.state.servers[other.id] = other
    rows = api.listManagementServers()["managementserver"]
    assert [(each["name"], each["state"]) for each in rows] == [
        ("localhost", "Up"),
        ("ms2", "Down"),
    ]
    assert not any("extension" in name for name in rows[0])


def test_a_page_of_a_list_says_how_long_the_list_is(api, made):
    for _ in range(5):
        api.createServiceOffering(name="more", cpunumber=1, cpuspeed=100, memory=128)
    page = api.listServiceOfferings(page=2, pagesize=4)
    assert (page["count"], len(page["serviceoffering"])) == (6, 2)
    assert len(api.listServiceOfferings(fetch_list=True)) == 6


def test_a_form_of_more_than_a_mebibyte_is_not_found(api, made):
    with pytest.raises(Exception, match="HTTP 404"):
        deployed(api, made, userdata="x" * (1 << 20))


def test_settings_are_found_by_a_part_of_their_name(api):
    rows = api.listConfigurations(name="start.retry")["configuration"]
    assert [each["name"] for each in rows] == ["restart.retry.interval", "start.retry"]
    assert api.updateConfiguration(name="start.retry", value=1)["configuration"]["value"] == "1"
