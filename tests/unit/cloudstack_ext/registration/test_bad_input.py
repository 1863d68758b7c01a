"""What stands in a registration's way: one clear line, and nothing that the next apply cannot mend.

Keys, rules and the file itself are in test_commands.py and test_apply.py, quotas in
test_quotas.py, what a plan refuses in test_plan.py.
"""

from dataclasses import replace

import pytest

from cloudstack_ext.api_server.state import new_id
from provisioner.errors import ErrorCode
from tests.unit.cli.rig import failed
from tests.unit.cloudstack_ext.registration.rig import Zone
from tests.unit.cloudstack_ext.registration.test_commands import Desk

pytestmark = pytest.mark.emulated


@pytest.fixture
def desk(tmp_path):
    with Zone() as zone:
        yield Desk(tmp_path, zone)


def settled(desk):
    """The next apply mends it, and a second plan is empty."""
    applied = desk.ask("apply")
    assert applied.exit_code == 0, applied.output
    assert desk.ask("plan").exit_code == 0


def test_a_clock_that_is_an_hour_away_is_named_where_the_key_is_refused(desk):
    desk.zone.clock.step_wall(3600)
    line = failed(desk.ask("apply"), ErrorCode.CLOUDSTACK_KEY, 64)
    assert "refuses the API key or its secret; this machine's clock is 3" in line
    assert "s ahead of its own" in line
    assert desk.zone.calls() == []
    desk.zone.clock.step_wall(-3600)
    settled(desk)


def cluster_of_another_extension(desk):
    """Somebody's External cluster of the file's name."""
    (zone,), (pod,) = desk.zone.state.zones, desk.zone.state.pods

    async def made(client):
        other = await client.call("createExtension", {"name": "other", "type": "Orchestrator"})
        given = {"zoneid": zone, "podid": pod, "clustertype": "CloudManaged"}
        given |= {"hypervisor": "External", "clustername": desk.zone.wanted.cluster.name}
        await client.call("addCluster", {**given, "extensionid": other["extension"]["id"]})

    desk.zone.run(made)


def test_a_cluster_of_another_extension_stays_with_it(desk):
    cluster_of_another_extension(desk)
    before = desk.zone.calls()
    line = failed(desk.ask("apply"), ErrorCode.REGISTRATION_REFUSED, 3)
    assert "cluster metal1: the name is taken by " in line
    assert line.strip().endswith(", without a mark: it is not ours")
    assert desk.zone.calls() == before
    desk.write(("cluster: {name: metal1}", "cluster: {name: metal2}"))
    settled(desk)


def test_our_cluster_that_somebody_gave_to_another_extension_is_not_taken_back(desk):
    assert desk.ask("apply").exit_code == 0
    (registration,) = desk.zone.state.registrations.values()
    (extension,) = desk.zone.state.extensions.values()
    ours = registration.extension
    other = replace(extension, id=new_id(), name="other", details={})
    desk.zone.state.extensions[other.id] = other
    registration.extension = other.id
    before = desk.zone.calls()
    line = failed(desk.ask("apply"), ErrorCode.REGISTRATION_REFUSED, 3)
    assert f"cluster metal1 belongs to another extension ({other.id})" in line
    assert desk.zone.calls() == before
    registration.extension = ours
    settled(desk)


def test_a_label_that_somebody_elses_host_has_is_refused_before_anything_is_made(desk):
    assert desk.ask("apply").exit_code == 0
    host = next(each for each in desk.zone.state.hosts.values() if each.name == "general-a")
    (row,) = [each for each in desk.desk.held_outside.values() if each.name == "general-a"]
    del desk.desk.held_outside[row.number]
    mark = host.details.pop("rackwright")
    before = desk.zone.calls()
    line = failed(desk.ask("apply"), ErrorCode.REGISTRATION_REFUSED, 3)
    assert f"host general-a: the name is taken by {host.id}, without a mark" in line
    assert desk.zone.calls() == before
    host.details["rackwright"] = mark
    settled(desk)


def test_all_that_stands_in_the_way_is_named_at_once(desk):
    (zone,) = desk.zone.state.zones.values()
    zone.security_groups = True
    desk.write(("os: Ubuntu 24.04 LTS", "os: Plan 9"), ("[ROOT/acme]", "[ROOT/evil]"))
    line = failed(desk.ask("apply"), ErrorCode.REGISTRATION_REFUSED, 3)
    for said in ("has security groups", "there is no Plan 9", "there is no ROOT/evil"):
        assert said in line
    assert desk.zone.calls() == []
