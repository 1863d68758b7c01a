"""What was said at enrolment is corrected, and then proven: the same machine, or quarantine."""

from dataclasses import replace

import pytest

from provisioner.errors import ErrorCode
from provisioner.operations.desk import EndMaintenance, Maintain, Quarantine
from provisioner.operations.server_change import Change
from provisioner.secret import Secret
from provisioner.servers.model import MacRole, Nic, State
from tests.unit.operations.test_desk import ANN, code_of, servers_of

NEW = Change(password=Secret("new"))


@pytest.fixture
def servers(world):
    desk = servers_of(world)
    world.do(desk.act("s1", Maintain(reason="a new password"), ANN, dry_run=False))
    return desk


def ask(world, servers, change):
    asked = world.do(servers.change("s1", change, ANN, dry_run=False))
    world.walk()
    return world.operation(asked.operation)


def test_a_new_password_is_tried_and_the_machine_proven_before_it_is_offered_again(world, servers):
    world.machines["s1"].password = "new"
    ask(world, servers, NEW)
    assert world.database.servers.password("s1").reveal() == "new"
    assert world.machines["s1"].password_tries == 0
    assert world.kinds()[-2:] == ["inspect", "clean"]
    assert world.state() is State.AVAILABLE
    assert world.server().maintenance is not None
    entry = world.database.audit.entries(most=1)[0]
    assert (entry.act, entry.subject, entry.detail) == ("change", "s1", "password")


def test_a_wrong_password_ends_in_quarantine_after_one_try(world, servers):
    assert ask(world, servers, NEW).code is ErrorCode.CONTROLLER_PASSWORD
    assert world.state() is State.QUARANTINED
    assert world.machines["s1"].password_tries == 1
    # corrected from there
    asked = world.do(
        servers.change("s1", Change(password=Secret("password of s1")), ANN, dry_run=False)
    )
    world.walk()
    assert world.operation(asked.operation).code is None


def test_an_address_behind_which_another_machine_answers_ends_in_quarantine(world, servers):
    machine = world.machines["s1"]
    other = replace(machine.identity, system_uuid="00000000-0000-4000-8000-00000000ffff")
    world.put_in_rack("s1", identity=other)  # what answers at the new address
    world.controllers.add("10.9.9.9", world.machines["s1"], world.server().controller.port)
    world.controllers.add(world.server().controller.host, machine, world.server().controller.port)
    found = ask(world, servers, Change(address="10.9.9.9"))
    assert found.code is ErrorCode.OTHER_MACHINE
    assert world.state() is State.QUARANTINED
    assert world.machines["s1"].booted_from == []


def test_the_answer_to_a_new_address_names_the_one_it_replaces(world, servers):
    old = world.server().controller
    asked = world.do(servers.change("s1", Change(address="10.9.9.9"), ANN, dry_run=False))
    assert f"(its controller was {old.host}, port {old.port})" in asked.text
    world.walk()
    back = world.do(servers.change("s1", Change(address=old.host), ANN, dry_run=False))
    assert "(its controller was 10.9.9.9," in back.text
    assert world.server().controller == old


def test_a_new_certificate_is_pinned_and_no_other_is_taken(world, servers):
    pinned = world.server().identity.certificate_sha256
    if pinned is None:
        change = Change(certificate_sha256="ab" * 32)
        assert code_of(world, servers.change("s1", change, ANN, dry_run=False)) == "STATE_CONFLICT"
        return
    found = ask(world, servers, Change(certificate_sha256="ab" * 32))
    assert found.code is ErrorCode.CONTROLLER_CERTIFICATE
    assert world.state() is State.QUARANTINED


def test_a_card_of_another_server_is_refused(world, servers):
    mac = world.server("s2").nics[0].mac
    card = Nic(mac=mac, roles=frozenset(MacRole), port="tap-s1")
    change = Change(nics=(card,))
    assert code_of(world, servers.change("s1", change, ANN, dry_run=False)) == "SERVER_EXISTS"
    assert world.open_now() is None


def test_a_server_that_may_be_handed_out_or_that_a_tenant_has_is_not_changed(world, servers):
    world.do(servers.act("s1", EndMaintenance(), ANN, dry_run=False))
    for name, prepare in (("s1", None), ("s1", world.ask_for_deployment)):
        if prepare is not None:
            prepare()
            world.walk()
        code = code_of(world, servers.change(name, NEW, ANN, dry_run=False))
        assert code is ErrorCode.STATE_CONFLICT
    assert world.database.servers.password("s1").reveal() == "password of s1"


def test_a_quarantined_server_of_a_tenant_and_one_with_an_operation_are_not_changed(world, servers):
    world.do(servers.act("s1", EndMaintenance(), ANN, dry_run=False))
    world.ask_for_deployment()
    world.walk()
    world.do(servers.act("s1", Quarantine(reason="smoke"), ANN, dry_run=False))
    assert code_of(world, servers.change("s1", NEW, ANN, dry_run=False)) == "STATE_CONFLICT"
    world.walk()
    assert world.state() is State.QUARANTINED
    assert code_of(world, servers.change("s1", NEW, ANN, dry_run=False)) == "STATE_CONFLICT"


def test_a_dry_run_shows_the_proof_and_changes_nothing(world, servers):
    asked = world.do(servers.change("s1", Change(address="10.9.9.9"), ANN, dry_run=True))
    assert asked.operation is None
    assert asked.steps[0].name == "off"
    assert world.server().controller.host != "10.9.9.9"
    assert code_of(world, servers.change("s1", Change(), ANN, dry_run=True)) == "USAGE"
