"""Rounds over a world of fakes: what is mended by itself, what waits, and what is left alone."""

from contextlib import suppress
from dataclasses import replace

import pytest

from cloudstack_ext.reconcile.compare import Difference
from cloudstack_ext.reconcile.loop import Reconciler
from cloudstack_ext.reconcile.views import CloudInstance, Union
from provisioner.errors import ErrorCode, RackwrightError, TransientError
from provisioner.operations.desk import Operator
from provisioner.operations.desk_differences import Compared
from provisioner.operations.rehearsal import Rehearsal
from provisioner.operations.release import RELEASE
from provisioner.ports.controllers import PowerAct
from provisioner.servers.model import Power, PowerReading, State
from provisioner.testing import store
from provisioner.units import Seconds
from tests.unit.operations.conftest import (  # noqa: F401 fixtures
    active,
    active_template,
    free_template,
    world,
)
from tests.unit.operations.world import REQUEST

ID = REQUEST.key.instance
OTHER = store.instance_request("22222222-2222-2222-2222-222222222222")
ROW = CloudInstance(
    instance=ID,
    name=REQUEST.name,
    owner="",
    offering="o",
    state="Running",
    host=store.HOST,
)
OTHER_ROW = replace(ROW, instance=OTHER.key.instance, name=OTHER.name, state="Stopped")
UNHEARD = tuple(replace(ROW, instance=f"x-{n}", state="Stopped") for n in range(30))
MANY = (*UNHEARD, OTHER_ROW)


class Sky:
    """One CloudStack as told."""

    def __init__(self, clock):
        self.clock, self.rows, self.error = clock, (*MANY, ROW), None
        self.sees_ours = True

    async def __call__(self, _site, _rows):
        if self.error is not None:
            raise self.error
        return Union(
            at=self.clock.monotonic(),
            instances={row.instance: row for row in self.rows},
            hosts=frozenset({store.HOST, "pool-b"}),
            sees_ours=self.sees_ours,
        )

    def shows(self, **differs):
        self.rows = (*MANY, replace(ROW, **differs))

    def forgets(self):
        self.rows = MANY


@pytest.fixture
def sky(active):  # noqa: F811
    return Sky(active.clock)


@pytest.fixture
def reconciler(active, sky):  # noqa: F811
    active.database.allocations.mark(active.allocation().id, owner="ROOT/alice")
    return Reconciler(
        sites=("lab",),
        look=sky,
        records=active.records,
        registered=active.database.registered,
        machines=active.bare_metal,
        clock=active.clock,
        readings_s=270.0,
        too_old_s=90.0,
        every=Seconds(300.0),
    )


def two_of_ours(active):  # noqa: F811
    """Both with a server, so that a list may not lose them at once."""
    active.ask_for_deployment(OTHER)
    active.walk()


def rounds(active, reconciler, times=1, apart_s=450.0):  # noqa: F811
    report = None
    for _ in range(times):
        active.pass_time(apart_s)
        report = active.live(reconciler.round("lab"))
    return report


def kinds(report):
    return [each.kind for each in report.findings]


def read(active, power):  # noqa: F811
    """The power loop has read this three times."""
    for ago in (40.0, 20.0, 0.0):
        reading = PowerReading(power=power, at=active.clock.monotonic() - ago, source="loop")
        active.database.servers.note_readings({"s1": reading})


def test_owner_name_and_host_are_taken_over(active, reconciler, sky):  # noqa: F811
    sky.shows(owner="ROOT/bob", name="i-9-9-VM", host="pool-b")
    rounds(active, reconciler)
    now = active.allocation()
    assert (now.owner, now.name, now.host) == ("ROOT/bob", "i-9-9-VM", "pool-b")
    assert kinds(rounds(active, reconciler)) == []


def test_a_stop_that_cloudstack_believes_done_is_done(active, reconciler, sky):  # noqa: F811
    active.power("off")
    active.machines["s1"].power = Power.ON
    sky.shows(state="Stopped")
    active.pass_time(450.0)
    read(active, Power.ON)
    assert kinds(active.live(reconciler.round("lab"))) == [Difference.STOPPED_ON]
    assert active.power_of() is Power.OFF


def test_one_that_was_started_meanwhile_is_left_on(active, reconciler, sky):  # noqa: F811
    sky.shows(state="Stopped")
    active.pass_time(450.0)
    read(active, Power.ON)
    active.live(reconciler.round("lab"))
    assert active.power_of() is Power.ON


class StartedFirst:
    """The machines, with a start by their owner just before one is looked at."""

    def __init__(self, machines, within):
        self.machines, self.within = machines, within

    async def observe(self, key):
        with suppress(TransientError):  # its deadline: it goes on
            await self.machines.power(REQUEST, PowerAct.ON, until=self.within)
        return await self.machines.observe(key)

    def power(self, request, act, *, until):
        return self.machines.power(request, act, until=until)


@pytest.mark.parametrize("within_s", [1800.0, 0.0], ids=["it is done", "it goes on"])
def test_a_start_between_look_and_mend_wins(active, reconciler, sky, within_s):  # noqa: F811
    live = stopped_but_on(active, sky)
    within = active.within(within_s)
    reconciler.machines = StartedFirst(active.bare_metal, within)
    assert kinds(live(reconciler.round("lab"))) == [Difference.STOPPED_ON]
    active.walk()
    assert active.allocation().wanted is Power.ON
    assert active.power_of() is Power.ON


def test_a_claim_that_cloudstack_does_not_know_waits_for_a_person(active, reconciler, sky):  # noqa: F811
    sky.forgets()
    assert kinds(rounds(active, reconciler, times=2)) == []
    (claimed,) = rounds(active, reconciler).findings
    assert claimed.kind is Difference.CLAIMED_UNKNOWN
    rounds(active, reconciler, times=5)
    assert active.state() is State.ACTIVE
    assert active.power_of() is Power.ON
    active.live(reconciler.apply(claimed.id, "ann"))
    assert active.state() is State.RELEASING


def test_a_dry_run_walks_the_release_and_changes_nothing(active, reconciler, sky):  # noqa: F811
    sky.forgets()
    (claimed,) = rounds(active, reconciler, times=3).findings
    rehearse = Rehearsal(records=active.records, clock=active.clock, site=active.site)
    desk = Compared(
        of=reconciler,
        records=active.records,
        audit=active.database.audit,
        clock=active.clock,
        rehearse=rehearse,
    )
    ann = Operator(name="ann", role="operator", by="uid 1000")
    planned = active.live(desk.apply_difference(claimed.id, ann, dry_run=True))
    assert [step.name for step in planned.steps] == list(RELEASE.names())
    assert active.state() is State.ACTIVE
    done = active.live(desk.apply_difference(claimed.id, ann, dry_run=False))
    assert (done.server, active.operation(done.operation).kind) == ("s1", "release")
    entry = active.database.audit.entries()[0]
    assert entry.act == "apply claimed-unknown-to-cloudstack"


def test_what_is_not_so_any_more_is_not_applied(active, reconciler, sky):  # noqa: F811
    sky.forgets()
    (claimed,) = rounds(active, reconciler, times=3).findings
    sky.shows()
    with pytest.raises(RackwrightError, match="not so any more"):
        active.live(reconciler.apply(claimed.id, "ann"))
    assert active.state() is State.ACTIVE


def test_nothing_is_applied_on_a_doubt(active, reconciler, sky):  # noqa: F811
    sky.forgets()
    (claimed,) = rounds(active, reconciler, times=3).findings
    sky.sees_ours = False
    with pytest.raises(RackwrightError, match="CANNOT_TELL"):
        active.live(reconciler.apply(claimed.id, "ann"))
    sky.error = TransientError(ErrorCode.CLOUDSTACK_UNREACHABLE, "away")
    with pytest.raises(RackwrightError, match="CANNOT_TELL"):
        active.live(reconciler.apply(claimed.id, "ann"))
    assert active.state() is State.ACTIVE


WORLDS = {
    "away for hours": {"error": TransientError(ErrorCode.CLOUDSTACK_SILENT, "away")},
    "empty lists": {"rows": ()},
    "empty lists by a foreign key": {"rows": (), "sees_ours": False},
}


@pytest.mark.parametrize("case", WORLDS)
def test_an_api_that_is_lost_or_blind_moves_nothing(active, reconciler, sky, case):  # noqa: F811
    two_of_ours(active)
    rounds(active, reconciler)
    for name, value in WORLDS[case].items():
        setattr(sky, name, value)
    before = len(active.machines["s1"].calls)
    report = rounds(active, reconciler, times=20)
    assert report.doubt
    assert report.findings == ()
    assert active.state() is State.ACTIVE
    presses = [call for call in active.machines["s1"].calls[before:] if call.startswith("power ")]
    assert presses == []


def stopped_but_on(active, sky):  # noqa: F811
    """CloudStack believes a stop done, and somebody has switched the server on."""
    if active.allocation().wanted is not Power.OFF:
        active.power("off")
    active.machines["s1"].power = Power.ON
    sky.shows(state="Stopped")
    active.pass_time(450.0)
    read(active, Power.ON)
    return active.live


@pytest.mark.parametrize("case", WORLDS)
def test_nothing_that_was_found_before_is_mended_on_a_doubt(active, reconciler, sky, case):  # noqa: F811
    two_of_ours(active)
    stopped_but_on(active, sky)(reconciler.round("lab"))
    assert active.power_of() is Power.OFF  # with a list that is believed
    stopped_but_on(active, sky)
    for name, value in WORLDS[case].items():
        setattr(sky, name, value)
    before = len(active.machines["s1"].calls)
    report = active.live(reconciler.round("lab"))
    assert report.doubt
    assert kinds(report) == [Difference.STOPPED_ON]  # it is told on
    assert active.machines["s1"].calls[before:] == []
    assert active.power_of() is Power.ON


@pytest.mark.parametrize("case", WORLDS)
def test_after_a_restart_an_api_that_is_lost_or_blind_moves_nothing_either(
    active,  # noqa: F811
    reconciler,
    sky,
    case,
):
    """There is no list before it that it could be held against."""
    two_of_ours(active)
    stopped_but_on(active, sky)
    for name, value in WORLDS[case].items():
        setattr(sky, name, value)
    before = len(active.machines["s1"].calls)
    report = rounds(active, reconciler, times=20)
    assert report.doubt
    assert report.findings == ()
    assert active.machines["s1"].calls[before:] == []


def test_those_that_were_deleted_between_two_lists_are_no_doubt(active, reconciler, sky):  # noqa: F811
    two_of_ours(active)
    rounds(active, reconciler)
    sky.rows = UNHEARD
    assert rounds(active, reconciler).doubt == "2 of 2 instances are gone at once"
    active.live(active.bare_metal.release(OTHER.key, "lab", until=active.within(20.0)))
    assert rounds(active, reconciler).doubt == ""


def test_many_that_were_never_started_here_may_go_unseen(active, reconciler, sky):  # noqa: F811
    rounds(active, reconciler)
    sky.rows = (ROW,)
    assert rounds(active, reconciler).doubt == ""


def test_a_loss_that_stands_is_told_as_differences_and_touches_nothing(active, reconciler, sky):  # noqa: F811
    two_of_ours(active)
    rounds(active, reconciler)
    sky.rows = UNHEARD
    assert rounds(active, reconciler, times=2).doubt
    assert rounds(active, reconciler).doubt == ""
    before = len(active.machines["s1"].calls)
    found = rounds(active, reconciler, times=5)
    assert kinds(found) == [Difference.CLAIMED_UNKNOWN] * 2
    presses = [call for call in active.machines["s1"].calls[before:] if call.startswith("power ")]
    assert presses == []
    assert {active.state("s1"), active.state("s2")} == {State.ACTIVE}
    active.live(reconciler.apply(found.findings[0].id, "ann"))  # nothing keeps a person from it


def test_the_last_list_says_for_ten_minutes_whether_an_instance_is_protected(
    active,  # noqa: F811
    reconciler,
    sky,
):
    assert reconciler.is_protected(REQUEST.key) is None
    sky.shows(is_protected=True)
    rounds(active, reconciler)
    assert reconciler.is_protected(REQUEST.key) is True
    assert reconciler.is_protected(replace(REQUEST.key, site="other")) is None
    sky.error = TransientError(ErrorCode.CLOUDSTACK_SILENT, "away")
    rounds(active, reconciler)
    assert reconciler.is_protected(REQUEST.key) is True
    rounds(active, reconciler)
    assert reconciler.is_protected(REQUEST.key) is None


def test_a_site_without_a_key_is_not_asked(active, reconciler):  # noqa: F811
    async def nobody(_site, _rows):
        return None

    reconciler.look = nobody
    report = rounds(active, reconciler)
    assert (report.at, report.doubt, report.findings) == (None, "", ())


def test_an_unknown_difference_is_refused(active, reconciler):  # noqa: F811
    with pytest.raises(RackwrightError, match="no difference abc"):
        active.live(reconciler.apply("abc", "ann"))
