"""Operations opened and closed with the server's move: the whole product of the table."""

import itertools
from dataclasses import replace

import pytest
import sqlalchemy as sa

from provisioner.errors import ConflictError, ErrorCode
from provisioner.servers.allocation import Phase
from provisioner.servers.model import State
from provisioner.servers.operation import NewOperation, Outcome, Status
from provisioner.servers.states import CHANGES, FOLLOWS, MOVES, SATISFIED, Ending, Intent
from provisioner.store.moves import MOVE_OF
from provisioner.store.operations import OPENED_HERE
from provisioner.testing import store
from provisioner.units import OperationId, ServerName, WallSeconds

NOW = WallSeconds(10.0)
S1 = ServerName("s1")
REQUEST = store.instance_request("11111111-1111-1111-1111-111111111111")


def deploy(database, *, powered=True):
    new = store.operation(Intent.DEPLOY, steps=("off", "on", "image"))
    allocation = database.allocations.allocate_and_open(REQUEST, "tiny", new, now=NOW)
    if powered:
        database.effects.begin(new.id, "on", now=NOW, dirties=True)
    return allocation, new.id


def release(database):
    new = store.operation(Intent.RELEASE)
    database.allocations.end_and_open(REQUEST.key, "deleted", new, tombstone=False, now=NOW)


BEFORE_ITS_FIRST_TENANT = [State.ENROLLED, State.VERIFYING, State.INSPECTING, State.CLEANING]
ASIDE = {State.QUARANTINED: Intent.QUARANTINE, State.RETIRED: Intent.RETIRE}


def bring_to(database, state):
    """A server in this state, by the moves that lead there."""
    if state in BEFORE_ITS_FIRST_TENANT:
        return bring_up_to(database, state)
    if state in ASIDE:
        database.operations.open(S1, store.operation(ASIDE[state]), now=NOW)
        store.close(database, S1)
    if state is State.RESERVED:
        database.allocations.reserve(REQUEST, until=NOW, now=NOW)
    if state in {State.DEPLOYING, State.ACTIVE, State.RESCUE, State.RELEASING}:
        deploy(database)
    if state in {State.ACTIVE, State.RESCUE, State.RELEASING}:
        store.close(database, S1)
    if state is State.RESCUE:
        database.operations.open(S1, store.operation(Intent.RESCUE), now=NOW)
        store.close(database, S1)
    if state is State.RELEASING:
        release(database)
    return S1


def bring_up_to(database, state):
    name = store.enrol(database, "s9").name
    if state is not State.ENROLLED:
        database.operations.open(name, store.operation(Intent.VERIFY), now=NOW)
    while database.servers.server(name).state is not state:
        store.close(database, name)
    return name


REACHABLE = list(State)


@pytest.mark.parametrize("state", REACHABLE)
def test_every_state_and_every_kind_is_a_move_a_no_op_or_a_conflict(database, state):
    for kind in Intent:
        if kind not in OPENED_HERE:
            with pytest.raises(ValueError, match="not opened alone"):
                database.operations.open(S1, store.operation(kind), now=NOW)
    name = bring_to(database, state)
    owned = state in {State.RESERVED, State.DEPLOYING, State.ACTIVE, State.RESCUE}
    refused = 0
    for kind in sorted(OPENED_HERE - {Intent.QUARANTINE, Intent.RETIRE}):
        needs_no_owner = kind not in {Intent.POWER, *CHANGES}
        move = MOVES.get((state, kind))
        satisfied = state in SATISFIED[kind] and state is MOVE_OF[kind].during
        if (owned and needs_no_owner) or not (move or satisfied):
            with pytest.raises(ConflictError, match="STATE_CONFLICT"):
                database.operations.open(name, store.operation(kind), now=NOW)
            refused += 1
    assert database.servers.server(name).state is state
    assert refused > 0


@pytest.mark.parametrize(
    ("state", "kind"),
    [pair for pair in MOVES if pair[1] in OPENED_HERE],
)
def test_every_move_opens_its_operation_in_its_running_state(database, handed_over, state, kind):
    name = bring_to(database, state)
    before = database.servers.server(name)
    new = replace(store.operation(kind), parameters={"reason": "a repair"})
    if kind is Intent.RELEASE:
        release_through_its_instance(database, new)
    else:
        database.operations.open(name, new, now=NOW)
    after = database.servers.server(name)
    expected = State.AVAILABLE if (state, kind) == (State.RESERVED, kind.RELEASE) else None
    assert after.state is (expected or MOVES[(state, kind)].during)
    assert after.epoch > before.epoch
    if expected is None:
        assert store.running(database, name).id == new.id
        assert handed_over[-1] == (new.id, name)


def release_through_its_instance(database, new):
    with pytest.raises(ConflictError, match="STATE_CONFLICT"):
        database.operations.open(S1, new, now=NOW)
    database.allocations.end_and_open(REQUEST.key, "deleted", new, tombstone=False, now=NOW)


def test_a_kind_ends_alike_wherever_it_began():
    for kind in OPENED_HERE | {Intent.DEPLOY}:
        assert {repr(move) for (_, intent), move in MOVES.items() if intent is kind} == {
            repr(MOVE_OF[kind])
        }


ENDS = [
    (kind, ending)
    for kind, ending in itertools.product(
        (Intent.VERIFY, Intent.INSPECT, Intent.CLEAN, Intent.DEPLOY, Intent.RELEASE, Intent.POWER),
        Ending,
    )
    if (kind, ending) != (Intent.DEPLOY, Ending.INPUT)  # two tests of its own, below
]


@pytest.mark.parametrize(("kind", "ending"), ENDS)
def test_every_ending_leads_where_the_table_says_and_opens_what_follows(database, kind, ending):
    name = bring_to(database, MOVE_OF[kind].during)
    if kind is Intent.POWER:
        database.operations.open(name, store.operation(kind), now=NOW)
    if (kind, ending) in {(Intent.CLEAN, Ending.DONE), (Intent.RELEASE, Ending.DONE)}:
        database.evidence.append_and_clean(store.running(database, name).id, {})
    record = store.running(database, name)
    store.close(database, name, Outcome(ending=ending, code=ErrorCode.LAB, brief="why"))
    ended = database.operations.operation(record.id)
    assert ended.ending is ending
    assert ended.status is (Status.DONE if ending is Ending.DONE else Status.FAILED)
    server = database.servers.server(name)
    assert server.state is MOVE_OF[kind].ends[ending]
    assert server.reason == ("" if ending is Ending.DONE else "why")
    open_now = database.operations.operations(open_only=True, server=name)
    assert [each.kind for each in open_now] == [
        follows for follows in [FOLLOWS.get((kind, ending))] if follows
    ]


def test_a_wrong_request_that_was_found_before_power_leaves_the_server_free(database):
    _, identifier = deploy(database, powered=False)
    database.effects.begin(identifier, "off", now=NOW)
    store.close(database, S1, Outcome(ending=Ending.INPUT, code=ErrorCode.SEED_INVALID))
    server = database.servers.server(S1)
    assert (server.state, server.dirty) == (State.AVAILABLE, False)
    assert database.allocations.allocation(REQUEST.key).phase is Phase.ENDED


def test_a_wrong_request_that_was_found_after_power_is_not_believed(database):
    _, identifier = deploy(database)
    wrong = Outcome(ending=Ending.INPUT, code=ErrorCode.SEED_INVALID)
    with pytest.raises(sa.exc.IntegrityError, match="offered_is_clean"):
        database.operations.close(identifier, wrong, None, now=NOW)
    assert database.operations.operation(identifier).status is Status.OPEN


def test_a_wipe_that_left_no_evidence_is_not_believed(database):
    bring_to(database, State.RELEASING)
    with pytest.raises(sa.exc.IntegrityError):
        store.close(database, S1)
    server = database.servers.server(S1)
    assert (server.state, server.dirty) == (State.RELEASING, True)


@pytest.mark.parametrize("ending", [each for each in Ending if each is not Ending.DONE])
def test_a_failed_deployment_ends_the_allocation_and_is_remembered(database, ending):
    allocation, _ = deploy(database, powered=ending is not Ending.INPUT)
    outcome = Outcome(ending=ending, code=ErrorCode.AGENT_SILENT, brief="it did not call in")
    store.close(database, S1, outcome, now=20.0)
    ended = database.allocations.by_id(allocation.id)
    assert (ended.phase, ended.ended_at) == (Phase.ENDED, 20.0)
    assert "AGENT_SILENT" in ended.end_reason
    failure = database.allocations.failure(REQUEST.key)
    assert (failure.code, failure.brief) == (ErrorCode.AGENT_SILENT, "it did not call in")
    assert failure.at == 20.0


def test_a_done_deployment_is_an_active_allocation_of_a_dirty_server(database):
    allocation, _ = deploy(database)
    store.close(database, S1)
    assert database.allocations.by_id(allocation.id).phase is Phase.ACTIVE
    assert database.servers.server(S1).dirty
    assert database.allocations.failure(REQUEST.key) is None


def test_what_follows_keeps_the_allocation_and_raises_the_epoch(database, handed_over):
    allocation, identifier = deploy(database)
    before = database.servers.server(S1).epoch
    store.close(database, S1, Outcome(ending=Ending.OURS, code=ErrorCode.DEADLINE))
    following = store.running(database, S1)
    assert (following.kind, following.allocation) == (Intent.RELEASE, allocation.id)
    assert following.epoch > before
    assert [each[0] for each in handed_over] == [identifier, following.id]


def test_closing_twice_changes_nothing(database, handed_over):
    _, identifier = deploy(database)
    store.close(database, S1)
    outcome = Outcome(ending=Ending.MACHINE, code=ErrorCode.AGENT_LOST)
    database.operations.close(identifier, outcome, None, now=NOW)
    assert database.servers.server(S1).state is State.ACTIVE
    assert len(handed_over) == 1


def test_what_must_follow_cannot_be_left_out_or_be_another_kind(database):
    _, identifier = deploy(database)
    outcome = Outcome(ending=Ending.MACHINE, code=ErrorCode.AGENT_LOST)
    for follow in (None, lambda _server: store.operation(Intent.CLEAN)):
        with pytest.raises(ValueError, match="must follow"):
            database.operations.close(identifier, outcome, follow, now=NOW)
    assert database.operations.operation(identifier).status is Status.OPEN
    assert database.servers.server(S1).state is State.DEPLOYING


def test_a_hand_over_that_fails_undoes_the_whole_move(folder, database, clock):
    database.close()

    def fail(_connection, _operation, _server):
        raise RuntimeError("engine")

    broken = store.open_store(folder, clock, fail)
    with pytest.raises(RuntimeError, match="engine"):
        deploy(broken, powered=False)
    assert broken.servers.server(S1).state is State.AVAILABLE
    assert broken.allocations.allocation(REQUEST.key) is None
    assert broken.operations.operations(server=S1)[0].kind is Intent.CLEAN
    broken.close()


def test_a_newer_operation_supersedes_the_older_one(database):
    _, identifier = deploy(database)
    release(database)
    older = database.operations.operation(identifier)
    assert (older.status, older.ending) == (Status.SUPERSEDED, None)
    with pytest.raises(ConflictError, match="SUPERSEDED"):
        database.effects.begin(identifier, "image", now=NOW)


def test_a_power_operation_supersedes_the_one_before(database):
    bring_to(database, State.ACTIVE)
    first = database.operations.open(S1, store.operation(Intent.POWER), now=NOW)
    new = replace(store.operation(Intent.POWER), parameters={"vlans": [202]})
    second = database.operations.open(S1, new, now=NOW)
    assert database.operations.operation(first.id).status is Status.SUPERSEDED
    assert store.running(database, S1).id == second.id
    assert database.allocations.allocation(REQUEST.key).operation == second.id


def test_the_same_power_operation_asked_for_again_is_the_one_that_runs(database, handed_over):
    bring_to(database, State.ACTIVE)
    new = replace(store.operation(Intent.POWER), parameters={"vlans": (101, 102)})
    first = database.operations.open(S1, new, now=NOW)
    handed_over.clear()
    again = replace(store.operation(Intent.POWER), parameters=new.parameters)
    assert database.operations.open(S1, again, now=NOW) == first
    assert handed_over == []
    other = replace(again, steps_name="reboot/1")
    assert database.operations.open(S1, other, now=NOW).id == other.id


def test_asking_again_attaches_to_what_runs(database, handed_over):
    name = bring_to(database, State.INSPECTING)
    handed_over.clear()
    again = database.operations.open(name, store.operation(Intent.INSPECT), now=NOW)
    assert again.id == store.running(database, name).id
    assert handed_over == []


def test_a_running_state_without_its_operation_gets_a_new_one(database):
    database.operations.open(S1, store.operation(Intent.QUARANTINE), now=NOW)
    store.close(database, S1)
    new = store.operation(Intent.QUARANTINE)
    assert database.operations.open(S1, new, now=NOW).id == new.id


def test_a_quarantine_keeps_its_reason_and_a_living_allocation(database):
    deploy(database)
    new = store.operation(Intent.QUARANTINE)
    why = NewOperation(
        id=new.id,
        kind=new.kind,
        steps_name=new.steps_name,
        steps=new.steps,
        who="ann",
        parameters={"reason": "smells of smoke"},
    )
    database.operations.open(S1, why, now=NOW)
    store.close(database, S1)
    server = database.servers.server(S1)
    assert (server.state, server.reason) == (State.QUARANTINED, "smells of smoke")
    assert database.allocations.allocation(REQUEST.key).phase is Phase.DEPLOYING


def test_a_server_that_is_allocated_is_neither_cleaned_nor_retired(database):
    deploy(database)
    database.operations.open(S1, store.operation(Intent.QUARANTINE), now=NOW)
    for kind in (Intent.CLEAN, Intent.INSPECT, Intent.RETIRE):
        with pytest.raises(ConflictError, match="allocated to instance"):
            database.operations.open(S1, store.operation(kind), now=NOW)


# --- cancelling ----------------------------------------------------------------------------
def test_cancelled_before_its_first_step_is_like_a_wrong_request(database):
    _, identifier = deploy(database, powered=False)
    database.operations.cancel(identifier, "ann", store.follow, now=NOW)
    record = database.operations.operation(identifier)
    assert (record.status, record.code) == (Status.CANCELLED, ErrorCode.CANCELLED)
    assert database.servers.server(S1).state is State.AVAILABLE
    assert database.allocations.failure(REQUEST.key).brief == "cancelled by ann"


def test_cancelled_after_its_first_step_is_quarantined(database):
    _, identifier = deploy(database)
    database.operations.cancel(identifier, "ann", store.follow, now=NOW)
    assert database.operations.operation(identifier).ending is None
    assert database.servers.server(S1).state is State.QUARANTINED
    assert store.running(database, S1).kind is Intent.QUARANTINE
    with pytest.raises(ConflictError, match="CANCELLED"):
        database.effects.begin(identifier, "image", now=NOW)


def test_what_has_ended_is_not_cancelled(database):
    _, identifier = deploy(database)
    store.close(database, S1)
    with pytest.raises(ConflictError, match="OPERATION_ENDED"):
        database.operations.cancel(identifier, "ann", store.follow, now=NOW)


# --- reading -------------------------------------------------------------------------------
def test_operations_are_read_newest_first(database):
    bring_to(database, State.RELEASING)
    found = database.operations.operations(server=S1)
    assert [each.kind for each in found[:2]] == [Intent.RELEASE, Intent.DEPLOY]
    assert len(database.operations.operations(most=3)) == 3
    assert [each.server for each in database.operations.operations(open_only=True)] == [S1]


def test_progress_is_noted_while_it_runs_and_not_after(database):
    _, identifier = deploy(database)
    database.operations.note(identifier, "writing", (5, 10))
    store.close(database, S1)
    database.operations.note(identifier, "late", (9, 10))
    record = database.operations.operation(identifier)
    assert (record.note, record.progress_bytes) == ("writing", (5, 10))


def test_an_unknown_operation_or_server_is_a_conflict(database):
    nobody = OperationId("nobody")
    with pytest.raises(ConflictError, match="OPERATION_UNKNOWN"):
        database.operations.operation(nobody)
    with pytest.raises(ConflictError, match="OPERATION_UNKNOWN"):
        database.effects.begin(nobody, "off", now=NOW)
    with pytest.raises(ConflictError, match="SERVER_UNKNOWN"):
        database.operations.open(ServerName("s7"), store.operation(Intent.VERIFY), now=NOW)


def test_a_list_names_no_step_twice(database):
    name = bring_to(database, State.ENROLLED)
    twice = store.operation(Intent.VERIFY, steps=("off", "on", "off"))
    with pytest.raises(ValueError, match="twice"):
        database.operations.open(name, twice, now=NOW)


# --- what a tenant asks for its machine -----------------------------------------------------
def change(database, kind, *steps, of=None, **parameters):
    new = replace(store.operation(kind, steps=steps or ("off",)), parameters=parameters)
    return database.operations.open(S1, new, now=NOW, of=of, alone=True).id


def failed(database, ending=Ending.MACHINE):
    store.close(database, S1, Outcome(ending=ending, code=ErrorCode.DISK_FAILED, brief="x"))


def mine(database):
    return database.allocations.allocation(REQUEST.key)


@pytest.mark.parametrize("kind", CHANGES)
@pytest.mark.parametrize("ending", [Ending.OURS, Ending.MACHINE, Ending.PERSON])
def test_a_failed_one_keeps_the_allocation_and_is_followed_by_a_cut_off(database, kind, ending):
    bring_to(database, State.ACTIVE)
    of = mine(database).id
    operation = change(database, kind, of=of)
    failed(database, ending)
    assert database.servers.server(S1).state is State.ACTIVE
    kept = mine(database)
    assert (kept.id, kept.phase, kept.wanted) == (of, Phase.ACTIVE, "off")
    follower = store.running(database, S1)
    assert (follower.kind, follower.allocation) == (Intent.POWER, of)
    assert database.operations.operation(operation).status is Status.FAILED
    store.close(database, S1)
    assert change(database, kind, of=of)


def test_a_cancelled_one_is_cut_off_as_well(database):
    bring_to(database, State.ACTIVE)
    operation = change(database, Intent.RESCUE)
    database.effects.begin(operation, "off", now=NOW)
    database.operations.cancel(operation, "ann", store.follow, now=NOW)
    assert store.running(database, S1).kind is Intent.POWER
    assert (mine(database).phase, mine(database).wanted) == (Phase.ACTIVE, "off")


def test_a_refused_one_changes_nothing(database):
    bring_to(database, State.ACTIVE)
    before = mine(database)
    change(database, Intent.REINSTALL)
    failed(database, Ending.INPUT)
    assert replace(mine(database), operation=before.operation) == before
    assert database.operations.operations(open_only=True, server=S1) == ()


def test_a_second_one_attaches_and_another_one_is_busy(database):
    bring_to(database, State.ACTIVE)
    operation = change(database, Intent.REINSTALL, image="tiny", seed_sha256="a")
    assert change(database, Intent.REINSTALL, image="tiny", seed_sha256="b") == operation
    for kind, image in ((Intent.REINSTALL, "other"), (Intent.RESEED, None), (Intent.POWER, None)):
        with pytest.raises(ConflictError, match=f"INSTANCE_BUSY: .*{operation}"):
            change(database, kind, image=image)


def test_a_rescue_of_what_is_rescued_is_nothing_to_do(database):
    bring_to(database, State.RESCUE)
    with pytest.raises(ConflictError, match="STATE_CONFLICT"):
        change(database, Intent.RESCUE)
    for kind in (Intent.REINSTALL, Intent.RESEED):
        with pytest.raises(ConflictError, match="STATE_CONFLICT"):
            change(database, kind)
    assert database.servers.server(S1).dirty


def test_a_mark_stands_with_the_beginning_of_its_step_and_goes_with_a_success(database):
    bring_to(database, State.ACTIVE)
    operation = change(database, Intent.REINSTALL, "boot", "write-image", image="other")
    database.effects.begin(operation, "boot", now=NOW, marks=("off_first",))
    database.effects.begin(operation, "write-image", now=NOW, marks=("needs_reinstall",))
    assert (mine(database).off_first, mine(database).needs_reinstall) == (True, True)
    failed(database)
    store.close(database, S1)  # it was cut off
    assert (mine(database).off_first, mine(database).needs_reinstall) == (False, True)
    change(database, Intent.REINSTALL, image="other")
    store.close(database, S1)
    assert not mine(database).needs_reinstall
    assert mine(database).image == "other"


def test_a_command_chosen_for_another_moment_is_refused(database):
    bring_to(database, State.ACTIVE)
    operation = change(database, Intent.RESCUE)
    database.effects.begin(operation, "on", now=NOW, marks=("off_first",))
    start = store.operation(Intent.POWER, steps=("port-to-tenant", "on"))
    with pytest.raises(ConflictError, match="INSTANCE_BUSY"):
        database.operations.open(S1, start, now=NOW)
    assert database.operations.operation(operation).status is Status.OPEN
