"""GPU hosts as remembered, and that one machine has one role (invariant 15), whoever writes."""

from dataclasses import replace

import pytest

from provisioner.errors import ConflictError, ErrorCode, InputError
from provisioner.hosts.model import (
    CloudPlace,
    ControllerPlace,
    HostRecord,
    SshAccess,
    SshHop,
)
from provisioner.secret import Secret
from provisioner.servers.identity import swapped
from provisioner.servers.model import ControllerIdentity
from provisioner.testing import store
from provisioner.units import HostName, WallSeconds
from tests.unit.hosts.built import BUNDLES, facts_of, good_host

UUID = "4c4c4544-0035-4b10-8057-b7c04f000001"
ACCESS = SshAccess(
    target=SshHop(host="10.0.0.7", user="ops", port=2222, host_key="SHA256:" + "A" * 43),
    jump=SshHop(host="10.0.0.1", host_key="SHA256:" + "B" * 43),
)


def record(name="gpu1", **fields):
    facts = fields.pop("facts", None) or good_host().facts()
    made = HostRecord(
        name=HostName(name),
        access=ACCESS,
        controller=ControllerPlace(host="10.0.9.7", port=443),
        cloudstack=CloudPlace(site="zone1", uuid=UUID),
        system_uuid=UUID,
        enrolled_at=WallSeconds(1.0),
        enrolled_by="operator root (uid 0)",
        inspected_at=WallSeconds(2.0),
        facts=facts,
    )
    return replace(made, **fields)


def other(name="gpu2", uuid="00000000-0000-4000-8000-00000000000b"):
    """Another machine at another controller."""
    host = good_host()
    host.files["/sys/class/dmi/id/product_uuid"] = f"{uuid}\n"
    place = ControllerPlace(host="10.0.9.8")
    return record(name, system_uuid=uuid, controller=place, facts=host.facts())


def test_what_is_remembered_comes_back_as_it_was(database):
    database.hosts.add(record(), b"texts")
    assert database.hosts.host(HostName("gpu1")) == record()
    assert database.hosts.bundle(HostName("gpu1")) == b"texts"
    database.hosts.add(other("a"), b"")
    assert [each.name for each in database.hosts.hosts()] == ["a", "gpu1"]


@pytest.mark.parametrize("name", sorted(path.name for path in BUNDLES.iterdir()))
def test_facts_of_every_recorded_host_come_back_as_they_were(database, name):
    facts = facts_of(name)
    database.hosts.add(record(facts=facts, system_uuid=None), b"")
    assert database.hosts.host(HostName("gpu1")).facts == facts


def test_newer_facts_take_the_place_of_older_ones_and_never_take_the_identity_away(database):
    database.hosts.add(record(), b"old")
    silent = facts_of("azure-nd96amsr-a100")
    database.hosts.observe(HostName("gpu1"), silent, b"new", now=WallSeconds(9.0))
    found = database.hosts.host(HostName("gpu1"))
    assert (found.facts, found.inspected_at, found.system_uuid) == (silent, 9.0, UUID)
    assert database.hosts.bundle(HostName("gpu1")) == b"new"


def test_a_host_that_is_not_there(database):
    for act in (database.hosts.host, database.hosts.bundle):
        with pytest.raises(InputError) as caught:
            act(HostName("gpu9"))
        assert caught.value.code is ErrorCode.HOST_UNKNOWN
    with pytest.raises(InputError):
        database.hosts.observe(HostName("gpu9"), record().facts, b"", now=WallSeconds(1.0))


def refused(act):
    with pytest.raises(ConflictError) as caught:
        act()
    return caught.value.code


def test_one_machine_is_one_host(database):
    database.hosts.add(record(), b"")
    same_uuid = record("gpu2", controller=None)
    same_controller = other()
    same_controller = replace(same_controller, controller=record().controller)
    for each in (record(), same_uuid, same_controller, other("gpu1")):
        assert refused(lambda each=each: database.hosts.add(each, b"")) is ErrorCode.HOST_EXISTS


def server_identity(database, name="s1"):
    database.servers.change(name, identity=ControllerIdentity(system_uuid=UUID))


@pytest.mark.parametrize("spelling", [UUID, UUID.upper(), swapped(UUID)])
def test_a_server_is_no_host_however_its_uuid_is_spelled(database, spelling):
    database.servers.change("s1", identity=ControllerIdentity(system_uuid=spelling))
    assert refused(lambda: database.hosts.add(record(), b"")) is ErrorCode.HOST_EXISTS


def test_a_host_is_no_server(database):
    database.hosts.add(record(), b"")
    assert refused(lambda: server_identity(database)) is ErrorCode.SERVER_EXISTS
    new = store.new_server("s9")
    place = replace(new.controller, host="10.0.9.7", port=443)
    enrol = lambda: database.servers.enrol(replace(new, controller=place), Secret("x"))  # noqa: E731
    assert refused(enrol) is ErrorCode.SERVER_EXISTS


def test_a_servers_controller_is_no_hosts(database):
    place = database.servers.server("s1").controller
    taken = replace(other(), controller=ControllerPlace(host=place.host.upper(), port=place.port))
    assert refused(lambda: database.hosts.add(taken, b"")) is ErrorCode.HOST_EXISTS


def test_a_uuid_that_is_seen_later_is_compared_then(database):
    server_identity(database)
    silent = record(system_uuid=None, facts=facts_of("azure-nd96amsr-a100"))
    database.hosts.add(silent, b"")
    now = WallSeconds(3.0)
    late = lambda: database.hosts.observe(HostName("gpu1"), record().facts, b"", now=now)  # noqa: E731
    assert refused(late) is ErrorCode.HOST_EXISTS
    assert database.hosts.host(HostName("gpu1")).facts == silent.facts


def test_a_retired_server_may_become_a_host_and_does_not_come_back(database):
    server_identity(database)
    database.operations.open("s1", store.operation("retire"), now=WallSeconds(1.0))
    store.close(database, "s1")
    database.hosts.add(record(), b"")
    store.enrol(database, "s9")
    assert refused(lambda: server_identity(database, "s9")) is ErrorCode.SERVER_EXISTS


INSERT = (
    "INSERT OR REPLACE INTO host (name, machine_uuid, controller_host, controller_port,"
    " enrolled_at, enrolled_by, inspected_at, facts, bundle)"
    " VALUES ('{}', '{}', '{}', {}, 0, '', 0, '{{}}', x'')"
)


def test_nobody_gets_around_it_by_plain_sql(database, sql):
    server_identity(database)
    database.hosts.add(other(), b"")
    spelled = sql("SELECT system_uuid FROM server WHERE name = 's1'")[0][0]
    place = database.servers.server("s2").controller
    taken = (place.host, place.port)
    for statement in (
        INSERT.format("x", spelled, "h", 1),
        INSERT.format("x", "u", place.host, place.port),
        INSERT.format("x", "u", "10.0.9.8", 443),
        INSERT.format("gpu2", "u", "h", 1),
        f"UPDATE OR REPLACE host SET machine_uuid = '{spelled}'",
        f"UPDATE OR REPLACE host SET (controller_host, controller_port) = {tuple(taken)}",
        "UPDATE OR REPLACE server SET host = '10.0.9.8', port = 443 WHERE name = 's2'",
        "UPDATE OR REPLACE server SET board_uuid = (SELECT machine_uuid FROM host)",
        "UPDATE host SET name = 'y'",
    ):
        message = sql.refused(statement)
        assert (
            "one machine, one role" in message
            or "rows stay" in message
            or "written once" in message
        )
    assert sql(INSERT.format("x", "u", "h", 1)) == []
