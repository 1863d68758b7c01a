"""Any order of moves keeps invariants 1 to 3, looked at through another connection."""

import itertools
import json
import shutil
import sqlite3
import tempfile
from pathlib import Path

import sqlalchemy as sa
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from provisioner.errors import ErrorCode, RackwrightError
from provisioner.servers.model import State
from provisioner.servers.operation import Outcome
from provisioner.servers.states import CHANGES, Ending, Intent
from provisioner.testing import store
from provisioner.testing.clock import FakeClock
from provisioner.units import ServerName, WallSeconds
from tests.unit.store.fast import fast

INSTANCES = [f"{n}1111111-1111-1111-1111-111111111111" for n in range(3)]
SERVERS = [ServerName("s1"), ServerName("s2")]
OPENED = [Intent.QUARANTINE, Intent.CLEAN, Intent.POWER, *CHANGES]
instances, servers = st.sampled_from(INSTANCES), st.sampled_from(SERVERS)


def why_refused(call):
    """The code of an error of ours, the name of the guards' error, None where it was done."""
    try:
        call()
    except RackwrightError as error:
        return error.code
    except sa.exc.IntegrityError as error:
        return type(error).__name__
    return None


class AnyOrder(RuleBasedStateMachine):
    """Two servers, three instances, and every move in whatever order."""

    def __init__(self, template):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp()) / "state"
        shutil.copytree(template, self.folder)
        self.handed_over = []
        self.database = fast(
            store.open_store(
                self.folder, FakeClock(), lambda _connection, *new: self.handed_over.append(new)
            )
        )
        self.outside = sqlite3.connect(self.folder / "rackwright.db")
        self.time = itertools.count(10)
        self.epochs = {}
        self.powered_since_wipe = set()
        self.deleted = set()

    def teardown(self):
        self.outside.close()
        self.database.close()
        shutil.rmtree(self.folder.parent)

    def now(self):
        return WallSeconds(float(next(self.time)))

    def running(self, server):
        found = self.database.operations.operations(open_only=True, server=server)
        return found[0] if found else None

    @rule(instance=instances)
    def prepare(self, instance):
        request = store.instance_request(instance)
        reserve = self.database.allocations.reserve
        refused = why_refused(lambda: reserve(request, until=self.now(), now=self.now()))
        assert refused in self.may_refuse(instance)

    @rule(instance=instances)
    def create(self, instance):
        request, new = store.instance_request(instance), store.operation(Intent.DEPLOY)
        allocate = self.database.allocations.allocate_and_open
        refused = why_refused(lambda: allocate(request, "tiny", new, now=self.now()))
        assert refused in self.may_refuse(instance)

    def may_refuse(self, instance):
        if instance in self.deleted:
            return {ErrorCode.INSTANCE_DELETED}
        return {None, ErrorCode.NO_CAPACITY}

    @rule(instance=instances, tombstone=st.booleans())
    def delete(self, instance, tombstone):
        key, new = store.instance_request(instance).key, store.operation(Intent.RELEASE)
        self.database.allocations.end_and_open(
            key, "deleted", new, tombstone=tombstone, now=self.now()
        )
        if tombstone:
            self.deleted.add(instance)

    @rule(server=servers)
    def power_on_for_a_tenant(self, server):
        record = self.running(server)
        if record is not None and record.kind is Intent.DEPLOY:
            self.database.effects.begin(record.id, "on", now=self.now(), dirties=True)
            self.powered_since_wipe.add(server)

    @rule(server=servers, ending=st.sampled_from(Ending), proven=st.booleans())
    def end_what_runs(self, server, ending, proven):
        record = self.running(server)
        if record is None:
            return
        if proven and record.kind in {Intent.RELEASE, Intent.CLEAN}:
            self.database.evidence.append_and_clean(record.id, {})
            self.powered_since_wipe.discard(server)
        outcome = Outcome(ending=ending)
        refused = why_refused(lambda: store.close(self.database, server, outcome, now=self.now()))
        assert refused in {None, "IntegrityError"}
        if self.database.servers.server(server).state in {State.ACTIVE, State.RESCUE}:
            self.powered_since_wipe.add(server)

    @rule(server=servers, kind=st.sampled_from(OPENED))
    def open_something(self, server, kind):
        open_it = self.database.operations.open
        refused = why_refused(lambda: open_it(server, store.operation(kind), now=self.now()))
        assert refused in {None, ErrorCode.STATE_CONFLICT}

    @rule(server=servers)
    def cancel(self, server):
        record = self.running(server)
        if record is not None:
            self.database.operations.cancel(record.id, "ann", store.follow, now=self.now())

    # --- what must hold at any time ----------------------------------------------------------
    def rows(self, query):
        return self.outside.execute(query).fetchall()

    @invariant()
    def one_owner(self):
        living = self.rows("SELECT server, site || instance FROM allocation WHERE ended_at IS NULL")
        assert len({row[0] for row in living}) == len({row[1] for row in living}) == len(living)

    @invariant()
    def one_open_operation_in_the_newest_epoch(self):
        query = (
            "SELECT o.server, o.epoch, s.epoch FROM operation o JOIN server s ON s.name = o.server"
            " WHERE o.status = 'open'"
        )
        found = self.rows(query)
        assert len({row[0] for row in found}) == len(found)
        assert all(mine == current for _, mine, current in found)

    @invariant()
    def epochs_never_fall(self):
        epochs = dict(self.rows("SELECT name, epoch FROM server"))
        assert all(epochs[name] >= before for name, before in self.epochs.items())
        self.epochs = epochs

    @invariant()
    def what_a_tenant_ran_on_is_dirty_until_it_was_wiped(self):
        dirty = {row[0] for row in self.rows("SELECT name FROM server WHERE dirty")}
        assert dirty == self.powered_since_wipe
        free = {row[0] for row in self.rows("SELECT name FROM server WHERE state = 'AVAILABLE'")}
        assert not free & dirty

    @invariant()
    def a_free_server_has_no_owner_and_a_kept_one_has(self):
        owned = {
            row[0] for row in self.rows("SELECT server FROM allocation WHERE ended_at IS NULL")
        }
        for name, state in self.rows("SELECT name, state FROM server"):
            if state in {"AVAILABLE", "RELEASING", "CLEANING"}:
                assert name not in owned
            if state in {"RESERVED", "DEPLOYING", "ACTIVE", "RESCUE"}:
                assert name in owned

    @invariant()
    def a_server_on_its_way_has_an_operation(self):
        moving = "('CLEANING', 'DEPLOYING', 'RELEASING', 'INSPECTING', 'VERIFYING')"
        on_their_way = {
            row[0] for row in self.rows(f"SELECT name FROM server WHERE state IN {moving}")
        }
        assert on_their_way <= {
            row[0] for row in self.rows("SELECT server FROM operation WHERE status = 'open'")
        }

    @invariant()
    def every_operation_was_handed_over(self):
        new = {row[0] for row in self.rows("SELECT id FROM operation WHERE opened_at >= 10")}
        assert new == {identifier for identifier, _ in self.handed_over}

    @invariant()
    def the_marker_follows(self):
        generation = json.loads((self.folder / "marker").read_text())["generation"]
        assert self.rows("SELECT generation FROM site_state") == [(generation,)]


def test_any_order_of_moves_keeps_the_invariants(template):
    run_state_machine_as_test(
        lambda: AnyOrder(template),
        settings=settings(
            max_examples=12,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
