"""The way back: in order, never forced, and again from wherever it was cut off."""

from dataclasses import replace

import pytest

from cloudstack_ext.api_server.faults import Fault, FaultKind, When
from cloudstack_ext.api_server.state import new_id
from cloudstack_ext.registration.apply import apply
from cloudstack_ext.registration.model import Kind
from cloudstack_ext.registration.removal import make_removal
from provisioner.errors import ConflictError, TransientError
from tests.unit.cloudstack_ext.registration.rig import DATABASE, Zone, steps

pytestmark = pytest.mark.emulated


def removal_of(seen):
    return make_removal(seen.found, seen.memory, database=DATABASE, account=seen.places.account)


def unregister(zone):
    async def work(client):
        seen = await zone._survey(client)
        plan = removal_of(seen)
        await apply(seen.with_plan(plan), client, zone.memory, zone.clock, zone.said.append)
        return plan

    return zone.run(work)


def deployed(zone):
    """An instance in the zone, deployed by alice."""
    state = zone.state
    template = next(each.id for each in state.templates.values() if each.name == "Debian 12")
    offering = next(each.id for each in state.offerings.values() if each.name == "bm.general")

    async def work(client):
        return await client.call(
            "deployVirtualMachine",
            {
                "zoneid": next(iter(state.zones)),
                "templateid": template,
                "serviceofferingid": offering,
                "networkids": next(iter(state.networks)),
            },
        )

    return zone.run(work)


def _left(state):
    kinds = (state.extensions, state.clusters, state.hosts, state.actions, state.registrations)
    return sum(map(len, kinds))


def test_everything_goes_in_the_order_that_harms_nobody_and_nothing_is_left(zone):
    zone.apply()
    before = zone.calls()
    plan = unregister(zone)
    assert [step.kind.value for step in plan.steps] == [
        *["offering"] * 2,
        *["template"] * 2,
        *["action"] * 3,
        *["host"] * 2,
        "cluster",
        "extension",
    ]
    assert zone.calls()[len(before) :] == [
        *["deleteServiceOffering"] * 2,
        *["deleteTemplate"] * 2,
        *["deleteCustomAction"] * 3,
        *["prepareHostForMaintenance", "deleteHost"] * 2,
        "unregisterExtension",
        "deleteCluster",
        "deleteExtension",
    ]
    assert not any("forced" in each.parameters for each in zone.server.calls.all())
    state = zone.state
    assert _left(state) == 0
    assert all(each.removed for each in (*state.offerings.values(), *state.templates.values()))
    assert zone.memory.kept == {}
    assert steps(removal_of(zone.survey())) == []


def test_what_was_retired_goes_too(zone):
    zone.apply()
    zone.want(("memory_mib: 262144", "memory_mib: 524288"))
    zone.apply()
    assert len(zone.state.offerings) == 3
    unregister(zone)
    assert all(each.removed for each in zone.state.offerings.values())


def test_a_host_is_waited_for_until_it_is_in_maintenance():
    with Zone(maintenance_s=30.0) as zone:
        zone.apply()
        unregister(zone)
        assert not zone.state.hosts


def test_with_an_instance_nothing_is_touched(zone):
    zone.apply()
    deployed(zone)
    before = zone.calls()
    with pytest.raises(ConflictError, match="there are 1 instances"):
        unregister(zone)
    assert zone.calls() == before


def test_a_hidden_instance_counts_as_well_as_a_stopped_one(zone):
    zone.apply()
    deployed(zone)
    (instance,) = zone.state.instances

    async def hide(client):
        await client.call("stopVirtualMachine", {"id": instance})
        await client.call("updateVirtualMachine", {"id": instance, "displayvm": False})
        return await client.every("listVirtualMachines", "virtualmachine", {"listall": True})

    assert zone.run(hide) == ()
    with pytest.raises(ConflictError, match="there are 1 instances"):
        unregister(zone)


@pytest.mark.parametrize("remembered", [True, False])
def test_an_instance_stays_where_the_file_names_another_extension_since(zone, remembered):
    zone.apply()
    deployed(zone)
    if not remembered:
        zone.memory.kept = {
            number: row
            for number, row in zone.memory.kept.items()
            if row.kind not in {Kind.EXTENSION, Kind.HOST}
        }
    before = zone.calls()
    zone.want(("pod: pod1", "pod: pod1\nextension: {name: rackwright2}"))
    with pytest.raises(ConflictError, match="there are 1 instances"):
        unregister(zone)
    assert zone.calls() == before


def test_the_actions_of_an_extension_that_the_file_names_no_more_go_with_it(zone):
    zone.apply()
    zone.want(("pod: pod1", "pod: pod1\nextension: {name: rackwright2}"))
    unregister(zone)
    assert _left(zone.state) == 0
    assert zone.memory.kept == {}


def test_an_instance_of_somebody_elses_extension_on_our_host_counts(zone):
    zone.apply()
    deployed(zone)
    for template in zone.state.templates.values():
        template.extension = None
    with pytest.raises(ConflictError, match="there are 1 instances"):
        unregister(zone)


def test_lists_that_come_empty_once_do_not_stop_an_instance(zone):
    zone.apply()
    deployed(zone)
    (instance,) = zone.state.instances.values()
    # of somebody else's template: CloudStack keeps one that is in use, and would end it there
    foreign = replace(zone.state.templates[instance.template], id=new_id(), details={})
    zone.state.templates[foreign.id] = foreign
    instance.template = foreign.id
    asked = 6  # twice of the extension and of each of two hosts
    fault = Fault(kind=FaultKind.EMPTY, command="listVirtualMachines", times=asked)
    zone.server.faults.add(fault)
    with pytest.raises(ConflictError, match="host general-a has instances"):
        unregister(zone)
    host = next(each for each in zone.state.hosts.values() if each.name == "general-a")
    prepared = [
        each.parameters["id"]
        for each in zone.server.calls.all()
        if each.command == "prepareHostForMaintenance"
    ]
    assert host.id not in prepared


def test_at_another_cloudstack_nothing_is_forgotten(zone):
    zone.apply()
    kept = dict(zone.memory.kept)
    with Zone() as other:
        other.memory.kept = dict(kept)
        with pytest.raises(ConflictError, match="shows none of the registered objects"):
            unregister(other)
        assert other.memory.kept == kept


def test_what_lost_its_mark_is_not_deleted(zone):
    zone.apply()
    (extension,) = zone.state.extensions.values()
    extension.details = {}
    before = zone.calls()
    with pytest.raises(ConflictError, match="does not bear our mark"):
        unregister(zone)
    assert zone.calls() == before


def test_what_a_lost_making_left_behind_goes_too(zone):
    zone.apply()
    zone.memory.kept = {n: row for n, row in zone.memory.kept.items() if row.name != "bm.general"}
    unregister(zone)
    assert all(each.removed for each in zone.state.offerings.values())


@pytest.mark.parametrize("when", list(When))
def test_cut_at_any_call_it_goes_on_when_called_again(zone, when):
    zone.apply()
    with zone.again() as whole:
        unregister(whole)
        calls = len(whole.server.calls.all())
    cut = 0
    for number in range(1, calls + 1):
        with zone.again() as other:
            other.server.faults.add(Fault(kind=FaultKind.CUT, when=when, call=number))
            try:
                unregister(other)
            except TransientError:
                cut += 1
                unregister(other)
            assert _left(other.state) == 0, number
            assert other.memory.kept == {}, number
            assert all(each.removed for each in other.state.offerings.values())
    assert cut == 14
