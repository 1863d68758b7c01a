"""The state of a server in which a recorded answer was given.

An object is read back from the fullest answer that shows it, so that a test starts with the ids and
times of the recording; a `World` holds what one pair names.
"""

from cloudstack_ext.api_server.installation import new_installation
from cloudstack_ext.api_server.model.accounts import (
    Account,
    Project,
    Role,
    RoleType,
)
from cloudstack_ext.api_server.model.catalogue import (
    CustomAction,
    Extension,
    ExtensionState,
    Offering,
    OfferingState,
    Registration,
    Template,
)
from cloudstack_ext.api_server.model.instances import (
    Annotation,
    Instance,
    InstanceState,
    Network,
    Nic,
)
from cloudstack_ext.api_server.model.places import (
    Cluster,
    Host,
    OsType,
    Pod,
    ResourceState,
    Zone,
)
from cloudstack_ext.api_server.state import State
from tests.unit.cloudstack_ext.api_server.recorded import (
    moment,
    names_in_errors,
    objects_in,
    shown,
)
from tests.unit.cloudstack_ext.api_server.recorded_people import PEOPLE, ROLES, add_people

RECORDER = "2edfa934-978d-4f51-bea6-6393d7d6b31e"
POOL_A = "1871b8f0-dbfb-4a66-9c17-928f2f7f0fe0"


class World:
    """A state, filled with what is asked for."""

    def __init__(self, pair):
        self.pair = pair
        self.own = {
            row["id"]: row for _kind, row in objects_in([pair["answer"], pair.get("job_final", {})])
        }
        self.state = State()
        self.reply = None
        self.state.settings = new_installation(0).settings
        add_people(self.state)
        self.os_type("038efde1-ecb0-11f1-a920-02fc00000001", "Ubuntu 24.04 LTS")
        self.state.keypairs["alicekey"] = next(
            row["details"]["SSH.PublicKey"]
            for kind, row in shown().values()
            if kind == "virtualmachine" and "SSH.PublicKey" in row.get("details", {})
        )

    def add(self, *ids):
        for each in ids:
            kind, row = shown().get(each, (None, {}))
            row = {**row, **self.own.get(each, {})}
            if kind is not None:
                getattr(self, f"_{kind}")(row)
        return self

    def account(self, name):
        return PEOPLE[name][1]

    def _zone(self, row):
        self.state.zones[row["id"]] = Zone(id=row["id"], name=row["name"])

    def _pod(self, row):
        self.add(row["zoneid"])
        self.state.pods[row["id"]] = Pod(id=row["id"], name=row["name"], zone=row["zoneid"])

    def _ostype(self, row):
        self.state.os_types[row["id"]] = OsType(
            id=row["id"],
            name=row["name"],
            category=row["oscategoryid"],
            category_name=row["oscategoryname"],
        )

    def _role(self, row):
        self.state.roles.setdefault(
            row["id"],
            Role(
                id=row["id"],
                name=row["name"],
                type=RoleType(row["type"]),
                description=row["description"],
            ),
        )

    def _extension(self, row):
        self.state.extensions[row["id"]] = Extension(
            id=row["id"],
            name=row["name"],
            description=row.get("description"),
            path="/".join(row["path"].split("/")[-2:]),
            path_ready=row["pathready"],
            prepare=row.get("orchestratorrequirespreparevm"),
            user_defined=row["isuserdefined"],
            state=ExtensionState(row["state"]),
            details=dict(row.get("details", {})),
            created=moment(row["created"]),
        )
        for each in self.own.get(row["id"], {}).get("resources", ()):
            self.add(each["id"])
            self.register(each["id"], row["id"], each.get("details", {}), each["created"])

    def register(self, cluster, extension, details=(), created="2026-11-30T11:25:13+0000"):
        self.state.registrations[cluster] = Registration(
            extension=extension, cluster=cluster, details=dict(details), created=moment(created)
        )

    def _cluster(self, row):
        self.add(row["podid"])
        numbers = {"metal2": 3, "zz-c1796044055": 15}
        self.state.clusters[row["id"]] = Cluster(
            id=row["id"],
            name=row["name"],
            zone=row["zoneid"],
            pod=row["podid"],
            hypervisor=row["hypervisortype"],
            number=numbers.get(row["name"], 1),
        )
        if "extensionid" in row and row["id"] not in self.state.registrations:
            self.add(*({row["extensionid"]} - set(self.state.extensions)))
            self.register(row["id"], row["extensionid"])

    def _host(self, row):
        self.add(*({row["clusterid"]} - set(self.state.clusters)))
        if row["clusterid"] not in self.state.clusters:
            self.stand_in_cluster(row["clusterid"])
        own = {
            name.removeprefix("External:"): text
            for name, text in row.get("details", {}).items()
            if name.startswith("External:")
        }
        self.state.hosts[row["id"]] = Host(
            id=row["id"],
            name=row["name"],
            cluster=row["clusterid"],
            guid=row.get("details", {}).get("guid", ""),
            created=moment(row["created"]),
            tags=tuple(each for each in row.get("hosttags", "").split(",") if each),
            details=own,
            state=ResourceState(row["resourcestate"]),
            number=names_in_errors()[0].get(row["id"], 1),
            agent=row["state"],
        )
        self._noted(row)

    def _extensioncustomaction(self, row):
        self.add(*({row["extensionid"]} - set(self.state.extensions)))
        self.state.actions[row["id"]] = CustomAction(
            id=row["id"],
            name=row["name"],
            description=row.get("description"),
            extension=row["extensionid"],
            roles=tuple(row["allowedroletypes"]),
            success_message=row.get("successmessage"),
            error_message=row.get("errormessage"),
            timeout_s=row["timeout"],
            enabled=row["enabled"],
            details=dict(row["details"]),
            parameters=tuple(row["parameters"]),
            created=moment(row["created"]),
        )

    def _template(self, row):
        self.add(row.get("ostypeid", ""), row.get("zoneid", ""))
        self.os_type(row["ostypeid"], row["ostypename"])
        if "extensionid" in row:
            self.add(*({row["extensionid"]} - set(self.state.extensions)))
        zone = next(iter(self.add("cf590144-b6fa-48a4-942d-f2057f2c6a6a").state.zones))
        created = row.get("created", "2026-11-30T11:25:13+0000")
        self.state.templates[row["id"]] = Template(
            id=row["id"],
            name=row["name"],
            display_text=row["displaytext"],
            account=self.account(row["account"]),
            zone=zone,
            os_type=row["ostypeid"],
            url=row.get("url", ""),
            created=moment(created),
            public=row["ispublic"],
            featured=row["isfeatured"],
            requires_hvm=row.get("requireshvm", False),
            extension=row.get("extensionid"),
            details=dict(row["details"]),
        )

    def os_type(self, id_, name):
        self.state.os_types[id_] = OsType(id=id_, name=name, category="", category_name="")

    def _serviceoffering(self, row):
        self.state.offerings[row["id"]] = Offering(
            id=row["id"],
            name=row["name"],
            display_text=row["displaytext"],
            cpus=row["cpunumber"],
            cpu_mhz=row["cpuspeed"],
            memory_mib=row["memory"],
            created=moment(row["created"]),
            disk_offering=row["diskofferingid"],
            state=OfferingState(row["state"]),
            tags=row.get("hosttags"),
            gpus=row.get("gpucount"),
            details=dict(row.get("serviceofferingdetails", {})),
        )

    def _virtualmachine(self, row):
        if "state" not in row:  # what is left after an expunging
            return
        self.os_type(row["ostypeid"], row["osdisplayname"])
        for table, name, ids in (
            (self.state.templates, "template", row.get("templateid")),
            (self.state.offerings, "offering", row.get("serviceofferingid")),
        ):
            if ids not in table:
                self.add(ids)
            if ids not in table:
                getattr(self, f"stand_in_{name}")(ids, row)
        host = row.get("hostid", POOL_A)
        self.add(*({host} - set(self.state.hosts)))
        internal = row.get("instancename") or names_in_errors()[1].get(row["id"], "i-7-1-VM")
        on = row["state"] in {"Running", "Starting", "Stopping"}
        updated = row.get("lastupdated")
        self.state.instances[row["id"]] = Instance(
            id=row["id"],
            number=int(internal.split("-")[2]),
            name=row["name"],
            display_name=row["displayname"],
            internal_name=internal,
            account=self.account(row["account"]),
            user=row["userid"],
            zone=row["zoneid"],
            template=row["templateid"],
            offering=row["serviceofferingid"],
            created=moment(row["created"]),
            updated=moment(updated) if updated else None,
            state=InstanceState(row["state"]),
            host=host if on else None,
            last_host=host,
            nics=[self.nic(each) for each in row["nic"]],
            details=dict(row["details"]),
            shown=row.get("displayvm", True),
            protected=row["deleteprotection"],
        )
        self._noted(row)

    def _noted(self, row):
        if self.own.get(row["id"], {}).get("hasannotations"):
            self.state.annotations[row["id"]] = Annotation(
                id=row["id"],
                kind="",
                entity=row["id"],
                entity_name="",
                text="",
                user="",
                admins_only=False,
                created=0,
            )

    def nic(self, row):
        self.network(row)
        return Nic(
            id=row["id"],
            network=row["networkid"],
            mac=row["macaddress"],
            number=int(row["deviceid"]),
            address=row.get("ipaddress"),
            reserved="isolationuri" in row,
        )

    def network(self, row):
        """As a NIC in it shows it."""
        self.state.networks[row["networkid"]] = Network(
            id=row["networkid"],
            name=row["networkname"],
            vlan=int(row.get("isolationuri", "/0").rpartition("/")[2]),
            kind=row["type"],
            gateway=row.get("gateway"),
            netmask=row.get("netmask"),
            user_data=row["type"] != "L2" or row["networkname"].endswith("cd"),
        )

    def stand_in_template(self, id_, row=None):
        """One that no answer shows, as far as an instance shows it."""
        row, os_type = row or {}, "038efde1-ecb0-11f1-a920-02fc00000001"
        self.os_type(row.get("ostypeid", os_type), row.get("osdisplayname", "Ubuntu 24.04 LTS"))
        self.add("cf590144-b6fa-48a4-942d-f2057f2c6a6a", RECORDER)
        self.state.templates[id_] = Template(
            id=id_,
            name=row.get("templatename", "stand-in"),
            display_text=row.get("templatedisplaytext", ""),
            account=self.account("system"),
            zone="cf590144-b6fa-48a4-942d-f2057f2c6a6a",
            os_type=row.get("ostypeid", os_type),
            url="",
            created=0,
            extension=RECORDER,
        )

    def stand_in_offering(self, id_, row=None, tags=None):
        row = row or {}
        self.state.offerings[id_] = Offering(
            id=id_,
            name=row.get("serviceofferingname", "stand-in"),
            display_text="",
            cpus=row.get("cpunumber", 1),
            cpu_mhz=row.get("cpuspeed", 100),
            memory_mib=row.get("memory", 128),
            created=0,
            disk_offering="",
            gpus=row.get("gpucount"),
            tags=tags,
        )
        return self.state.offerings[id_]

    def stand_in_cluster(self, id_):
        self.add("33986b4b-6855-47fa-8ed4-aab6ba06b2f6")
        row = next((row for _kind, row in shown().values() if row.get("clusterid") == id_), {})
        self.state.clusters[id_] = Cluster(
            id=id_,
            name=row.get("clustername", "stand-in"),
            zone="cf590144-b6fa-48a4-942d-f2057f2c6a6a",
            pod="33986b4b-6855-47fa-8ed4-aab6ba06b2f6",
            hypervisor="External",
            number=15,
        )

    def stand_in_instance(self, id_):
        """One that no answer shows: alice's, on the first pool."""
        internal = names_in_errors()[1].get(id_, "i-7-1-VM")
        template = "1bfdfee6-f0e5-4135-8364-f024c6c8292d"
        offering = "5619ba91-9317-4c3c-adb8-d4899bdcfbd5"
        self.add(template, offering, POOL_A)
        self.state.instances[id_] = Instance(
            id=id_,
            number=int(internal.split("-")[2]),
            name="stand-in",
            display_name="stand-in",
            internal_name=internal,
            account=self.account("alice"),
            user=PEOPLE["alice"][0],
            zone="cf590144-b6fa-48a4-942d-f2057f2c6a6a",
            template=template,
            offering=offering,
            created=0,
            last_host=POOL_A,
        )
        return self.state.instances[id_]

    def _annotation(self, row):
        self.add(row["entityid"])
        self.state.annotations[row["id"]] = Annotation(
            id=row["id"],
            kind=row["entitytype"],
            entity=row["entityid"],
            entity_name=row["entityname"],
            text=row["annotation"],
            user=row["userid"],
            admins_only=row["adminsonly"],
            created=moment(row["created"]),
        )

    def _project(self, row):
        account = Account(
            id="09000000-0000-4000-8000-000000000009",
            name=row["projectaccountname"],
            domain=row["domainid"],
            role=ROLES[RoleType.USER][0],
            number=20,
        )
        self.state.accounts[account.id] = account
        self.state.projects[row["id"]] = Project(
            id=row["id"],
            name=row["name"],
            display_text=row["displaytext"],
            owner=self.account(row["owner"][0]["account"]),
            account=account.id,
            created=moment(row["created"]),
        )
