"""Against what a real management server 4.22 answered, and the parameters that it knows."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from cloudstack_ext.api_server.commands import known_commands
from cloudstack_ext.registration import found as parse
from cloudstack_ext.registration.calls import Ids, calls
from cloudstack_ext.registration.model import Act, Change, Kind, Step, Thing
from cloudstack_ext.registration.reading import LISTINGS, NEEDED_TO_LOOK
from tests.unit.cloudstack_ext.registration.test_plan import World

DATA = Path(__file__).parents[3] / "data" / "cloudstack_api"
IDS = Ids(database="db", zone="z", pod="p", extension="e", cluster="c")


def recorded(name, key):
    """Rows of a recorded answer, with the command that was asked."""
    pair = json.loads((DATA / f"{name}.json").read_text())
    (answer,) = pair["answer"].values()
    rows = answer[key]
    return pair["request"]["command"], rows if isinstance(rows, list) else [rows]


# --- what is there ---------------------------------------------------------------------------
def test_a_recorded_host_is_understood():
    _, rows = recorded("listHosts_External", "host")
    host = parse.host(rows[0])
    assert (host.name, host.fields["hosttags"], host.fields["state"]) == (
        "h200-pool-a",
        "h200,poola",
        "Up",
    )
    assert host.details == {"pool": "a", "shared_key": "from-host", "node_class": "h200x8"}
    assert (host.mark, host.owner) == ("", "")
    assert host.fields["resourcestate"] == "Enabled"


def test_recorded_extensions_and_clusters_are_understood():
    _, rows = recorded("listExtensions_resources", "extension")
    extension = parse.extension(rows[0])
    assert extension.fields["path"] == "recorder/recorder.py"
    assert extension.fields["orchestratorrequirespreparevm"] == "true"
    assert extension.details == {"endpoint": "https://metald.example:8443", "region": "lab"}
    _, clusters = recorded("listClusters_External", "cluster")
    first, second = parse.clusters(clusters, rows)
    assert (first.name, first.fields["arch"], first.fields["hypervisor"]) == (
        "metal1",
        "x86_64",
        "External",
    )
    assert first.fields["extensionid"] == extension.id
    assert first.details == {"pool": "rack7", "shared_key": "from-resourcemap"}
    assert second.details == {"x": "y", "pool": "rack9"}


def test_recorded_templates_have_their_owners():
    _, rows = recorded("listTemplates_External", "template")
    ours, mine = map(parse.template, rows)
    assert ours.owner == "system@00d1d0a5-ecb0-11f1-a920-02fc00000001"
    assert mine.owner.startswith("alice@")
    assert (ours.fields["ispublic"], mine.fields["ispublic"]) == ("true", "false")
    assert (ours.hidden, mine.hidden) == (False, True)
    assert mine.details == {"image": "tenant-template-image"}


def test_recorded_actions_are_compared_by_what_was_registered():
    _, rows = recorded("listCustomActions", "extensioncustomaction")
    actions = {row["name"]: parse.action(row) for row in rows}
    cycle = actions["power-cycle"].fields
    assert cycle["allowedroletypes"] == "DomainAdmin,User"
    assert cycle["parameters"].startswith(
        "target STRING NONE required, force BOOLEAN NONE optional"
    )
    assert (cycle["timeout"], cycle["enabled"]) == ("10", "true")
    assert actions["delete"].fields["parameters"] == ""


@pytest.mark.parametrize(
    ("name", "gpus"),
    [
        ("createServiceOffering_baremetal", ""),
        ("createServiceOffering_baremetal_gpucount_only", "8"),
    ],
)
def test_recorded_offerings_are_understood(name, gpus):
    _, rows = recorded(name, "serviceoffering")
    offering = parse.offering(rows[0])
    assert offering.fields["gpucount"] == gpus
    assert (offering.fields["cpunumber"], offering.fields["memory"]) == ("4", "4096")
    assert (offering.fields["hosttags"], offering.fields["offerha"]) == ("poola", "false")
    assert (offering.fields["domainid"], offering.shared, offering.hidden) == ("", False, False)
    assert offering.details["gpu_profile"] == "8xH200"


def test_a_recorded_instance_is_of_its_extension_wherever_it_is():
    _, rows = recorded("listVirtualMachines_by_extensionid", "virtualmachine")
    instance = parse.instance(rows[0])
    assert (instance.name, instance.state) == ("Trainer One", "Stopped")
    assert instance.template == rows[0]["templateid"]


# --- what is asked ---------------------------------------------------------------------------
def _all_steps():
    world = World()
    for (kind, name), thing in world.things.items():
        wish = next(each for each in _wishes(world) if (each.kind, each.name) == (kind, name))
        step = Step(act=Act.MAKE, kind=kind, name=name, wish=wish)
        yield step
        fields = [*(field for field in wish.fields if field not in _UNCHANGEABLE), "details.x"]
        changes = tuple(Change(field=field, old="a", new="b") for field in fields)
        changed = replace(step, act=Act.CHANGE, id=thing.id, thing=thing, changes=changes)
        yield changed
        yield replace(changed, act=Act.REMOVE)
        if kind in {Kind.TEMPLATE, Kind.OFFERING}:
            yield replace(changed, act=Act.RETIRE)
    bare = Thing(kind=Kind.CLUSTER, id="c", name="metal1")
    wish = next(each for each in _wishes(world) if each.kind is Kind.CLUSTER)
    change = Change(field="extensionid", old="", new="e")
    yield Step(
        act=Act.CHANGE, kind=Kind.CLUSTER, name="c", wish=wish, thing=bare, changes=(change,)
    )


_UNCHANGEABLE = {
    *("path", "hypervisor", "zoneid", "podid", "clusterid", "extensionid"),
    *("cpunumber", "cpuspeed", "memory", "gpucount", "offerha"),
}
"""By the model's own tables: REMADE and SETTLED."""


def _wishes(world):
    from cloudstack_ext.registration.wishes import wishes
    from tests.unit.cloudstack_ext.registration.test_plan import PLACES

    return wishes(world.wanted, PLACES, extension="e", cluster="c")


CALLS = [call for step in _all_steps() for call in calls(step, IDS)]


def test_every_parameter_that_is_sent_is_one_that_the_server_knows():
    """It ignores others without a word."""
    commands, seen = known_commands(), set()
    for call in CALLS:
        known = commands[call.command].parameters
        given = {re.sub(r"\[\d+\].*", "", name) for name in call.parameters}
        assert given <= known.keys(), call.command
        needed = {name for name, each in known.items() if each.required}
        assert needed <= given, call.command
        seen.add(call.command)
    assert len(seen) == 22


def test_every_command_that_looks_is_one_that_the_server_knows():
    known = known_commands()
    assert set(NEEDED_TO_LOOK) <= known.keys()
    for listing in LISTINGS.values():
        for asked in listing.parameters:
            assert asked.keys() <= known[listing.command].parameters.keys(), listing.command


def test_every_update_sends_the_mark_and_all_details():
    updates = [call for call in CALLS if call.command.startswith("update")]
    bare = {"updateTemplatePermissions"}  # and what retires an offering
    with_details = [
        call
        for call in updates
        if call.command not in bare and "Inactive" not in call.parameters.values()
    ]
    assert len(with_details) == 11
    for call in with_details:
        marks = [
            str(value) for name, value in call.parameters.items() if name.endswith("rackwright")
        ]
        assert len(marks) == 1, call
        assert marks[0].startswith("db/")


def test_no_call_asks_for_a_gpu_profile_for_high_availability_or_for_force():
    for call in CALLS:
        assert not {"vgpuprofileid", "forced", "cleanup"} & call.parameters.keys()
        assert call.parameters.get("offerha", "false") == "false"
