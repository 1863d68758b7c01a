"""An instance's whole life: attach, end, tombstone, memory of failures."""

import pytest

from provisioner.errors import ConflictError, ErrorCode
from provisioner.servers.allocation import Phase
from provisioner.servers.model import Power, State
from provisioner.servers.operation import Outcome, Status
from provisioner.servers.states import Ending, Intent
from provisioner.testing import store
from provisioner.units import AllocationId, ServerName, WallSeconds

NOW, UNTIL = WallSeconds(10.0), WallSeconds(1810.0)
S1 = ServerName("s1")
REQUEST = store.instance_request("11111111-1111-1111-1111-111111111111")
KEY = REQUEST.key


def create(database, **also):
    new = store.operation(Intent.DEPLOY)
    return database.allocations.allocate_and_open(REQUEST, "tiny", new, now=NOW, **also), new


def activate(database):
    allocation, new = create(database)
    database.effects.begin(new.id, "off", now=NOW, dirties=True)
    store.close(database, S1)
    return allocation


def end(database, operation=None, *, tombstone=False, **also):
    return database.allocations.end_and_open(
        KEY, "deleted", operation, tombstone=tombstone, now=NOW, **also
    )


def test_create_takes_the_reservation_over(database):
    reserved = database.allocations.reserve(REQUEST, until=UNTIL, now=NOW)
    allocation, new = create(database)
    assert (allocation.id, allocation.operation) == (reserved.id, new.id)
    assert (allocation.phase, allocation.wanted) == (Phase.DEPLOYING, Power.ON)
    assert (allocation.reserved_until, allocation.image) == (None, "tiny")
    assert allocation.networks == REQUEST.networks
    assert database.servers.server(S1).state is State.DEPLOYING
    assert database.operations.operation(new.id).allocation == allocation.id


def test_create_without_prepare_reserves_by_itself(database):
    allocation, _ = create(database)
    assert allocation.server == S1


def test_create_again_attaches_to_what_runs_or_is_installed(database, handed_over):
    first, new = create(database)
    again, _ = create(database)
    assert (again.id, again.operation) == (first.id, new.id)
    database.effects.begin(new.id, "off", now=NOW, dirties=True)
    store.close(database, S1)
    installed, _ = create(database)
    assert installed.phase is Phase.ACTIVE
    assert [each[0] for each in handed_over] == [new.id]


def test_a_deployment_prepared_for_one_server_is_not_opened_on_another(database):
    with pytest.raises(ConflictError, match="INSTANCE_BUSY"):
        create(database, on="s2")
    assert database.allocations.allocation(KEY) is None
    assert create(database, on="s1")[0].server == S1


def test_an_unused_reservation_ends_without_an_operation(database, handed_over):
    database.allocations.reserve(REQUEST, until=UNTIL, now=NOW)
    before = database.servers.server(S1).epoch
    ended = end(database)
    server = database.servers.server(S1)
    assert (ended.phase, ended.end_reason) == (Phase.ENDED, "deleted")
    assert (server.state, server.epoch) == (State.AVAILABLE, before + 1)
    assert handed_over == []


def test_what_was_deployed_is_released(database):
    activate(database)
    new = store.operation(Intent.RELEASE)
    ended = end(database, new)
    server = database.servers.server(S1)
    assert (server.state, server.dirty) == (State.RELEASING, True)
    assert (ended.phase, ended.operation) == (Phase.ENDED, new.id)
    assert store.running(database, S1).allocation == ended.id


def test_a_running_deployment_is_superseded_by_its_release(database):
    _, new = create(database)
    end(database, store.operation(Intent.RELEASE))
    assert database.operations.operation(new.id).status is Status.SUPERSEDED


def test_a_release_that_is_needed_is_not_left_out(database):
    create(database)
    with pytest.raises(ConflictError, match="INSTANCE_BUSY"):
        end(database)
    assert database.allocations.allocation(KEY).phase is Phase.DEPLOYING


def test_a_quarantined_server_stays_so_and_its_fence_goes_on(database, handed_over):
    activate(database)
    fence = database.operations.open(S1, store.operation(Intent.QUARANTINE), now=NOW)
    ended = end(database, store.operation(Intent.RELEASE), tombstone=True)
    server = database.servers.server(S1)
    assert ended.phase is Phase.ENDED
    assert (server.state, server.dirty) == (State.QUARANTINED, True)
    assert database.effects.begin(fence.id, "off", now=NOW).beginnings == 1
    assert handed_over[-1][0] == fence.id


def test_ending_twice_ends_nothing_more(database):
    activate(database)
    end(database, store.operation(Intent.RELEASE))
    assert end(database, store.operation(Intent.RELEASE)) is None


def test_a_timer_asks_in_the_transaction(database):
    database.allocations.reserve(REQUEST, until=UNTIL, now=NOW)
    over = WallSeconds(UNTIL + 1)
    assert end(database, still=lambda a: a.reserved_until < NOW) is None
    assert database.allocations.allocation(KEY).phase is Phase.RESERVED
    assert end(database, still=lambda a: a.reserved_until < over).phase is Phase.ENDED


def test_a_deleted_instance_is_refused_for_ever(database):
    assert end(database, tombstone=True) is None
    assert end(database, tombstone=True) is None
    with pytest.raises(ConflictError, match="INSTANCE_DELETED"):
        database.allocations.reserve(REQUEST, until=UNTIL, now=NOW)
    with pytest.raises(ConflictError, match="INSTANCE_DELETED"):
        create(database)
    assert database.servers.server(S1).state is State.AVAILABLE


def test_the_same_uuid_of_another_site_is_another_instance(database):
    end(database, tombstone=True)
    other = store.instance_request(KEY.instance, site="elsewhere")
    assert database.allocations.reserve(other, until=UNTIL, now=NOW).server == S1


def test_after_an_end_the_newest_allocation_is_answered(database):
    database.allocations.reserve(REQUEST, until=UNTIL, now=NOW)
    end(database)
    second, _ = create(database)
    assert database.allocations.allocation(KEY).id == second.id
    store.close(database, S1, Outcome(ending=Ending.OURS, code=ErrorCode.DEADLINE))
    assert database.allocations.allocation(KEY).id == second.id
    assert database.allocations.living() == ()


def test_a_failure_is_forgotten_after_a_success_and_after_superseding(database):
    create(database)
    assert database.allocations.failure(KEY) is None
    outcome = Outcome(ending=Ending.MACHINE, code=ErrorCode.AGENT_SILENT, brief="silent")
    store.close(database, S1, outcome, now=33.0)
    assert database.allocations.failure(KEY).at == 33.0
    _, new = create(database)  # the next one, on s2
    assert database.allocations.failure(KEY) is None
    end(database, store.operation(Intent.RELEASE))
    assert database.operations.operation(new.id).status is Status.SUPERSEDED
    assert database.allocations.failure(KEY) is None


def test_marks_are_kept_for_living_and_ended_ones(database):
    allocation = activate(database)
    database.allocations.mark(allocation.id, known_to_caller=True, commanded_at=WallSeconds(12.5))
    end(database, store.operation(Intent.RELEASE))
    database.allocations.mark(allocation.id, off_confirmed=True)
    found = database.allocations.by_id(allocation.id)
    assert (found.known_to_caller, found.commanded_at, found.off_confirmed) == (True, 12.5, True)


@pytest.mark.parametrize("field", ["phase", "server", "ended_at", "ever_powered", "operation"])
def test_what_only_moves_change_is_not_marked(database, field):
    allocation, _ = create(database)
    with pytest.raises(ValueError, match=field):
        database.allocations.mark(allocation.id, **{field: None})


def test_an_unknown_allocation_is_a_conflict(database):
    nobody = AllocationId("nobody")
    with pytest.raises(ConflictError, match="INSTANCE_UNKNOWN"):
        database.allocations.by_id(nobody)
    with pytest.raises(ConflictError, match="INSTANCE_UNKNOWN"):
        database.allocations.mark(nobody, off_confirmed=True)
