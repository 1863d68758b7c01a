"""Every difference alone, and what is none; absence needs more than an empty answer."""

from dataclasses import replace

import pytest

from cloudstack_ext.reconcile.compare import Difference, compare
from cloudstack_ext.reconcile.views import LIST_YOUNG_S, Cloud, CloudInstance, Ours, Union
from provisioner.ports.differences import Act
from provisioner.servers.allocation import Allocation, InstanceKey, InstanceView, Phase
from provisioner.servers.model import Power

ROW = CloudInstance(
    instance="i-1",
    name="i-2-1-VM",
    owner="ROOT/alice",
    offering="o-1",
    state="Running",
    host="h200-a",
)
SIZES = {"o-1": "h200", "o-2": "l40s"}
ALLOCATION = Allocation(
    id="a-1",
    key=InstanceKey(site="lab", instance="i-1"),
    name="i-2-1-VM",
    who="lab",
    server="s1",
    pool="h200",
    phase=Phase.ACTIVE,
    wanted=Power.ON,
    created_at=0.0,
    known_to_caller=True,
    ever_powered=True,
    host="h200-a",
    owner="ROOT/alice",
    size="h200",
)
ON = InstanceView(phase=Phase.ACTIVE, wanted=Power.ON, on_confirmed=True, fresh=True)
OFF_WANTED = replace(ON, wanted=Power.OFF)


def union(*rows, at=0.0, hosts=("h200-a",), sees_ours=True):
    instances = {row.instance: row for row in rows}
    return Union(at=at, instances=instances, hosts=frozenset(hosts), sees_ours=sees_ours)


def ours(view=ON, *, is_deleted=False, **differs):
    return Ours(allocation=replace(ALLOCATION, **differs), view=view, is_deleted=is_deleted)


def found(there, *known):
    return compare(Cloud(union=there), known, SIZES)


def test_what_agrees_is_no_difference():
    assert found(union(ROW), ours()) == ()
    assert (
        found(union(replace(ROW, state="Stopped")), ours(replace(OFF_WANTED, on_confirmed=False)))
        == ()
    )


CASES = {
    "given back here": (
        ROW,
        ours(phase=Phase.ENDED, ended_at=1.0),
        Difference.RUNNING_RELEASED,
        Act.TELL,
    ),
    "off here": (
        ROW,
        ours(replace(ON, on_confirmed=False, off_confirmed=True)),
        Difference.RUNNING_OFF,
        Act.TELL,
    ),
    "on here": (
        replace(ROW, state="Stopped"),
        ours(OFF_WANTED),
        Difference.STOPPED_ON,
        Act.POWER_OFF,
    ),
    "owner": (replace(ROW, owner="ROOT/bob"), ours(), Difference.OWNER, Act.REMEMBER),
    "name": (replace(ROW, name="i-9-1-VM"), ours(), Difference.NAME, Act.REMEMBER),
    "offering": (replace(ROW, offering="o-2"), ours(), Difference.OFFERING, Act.TELL),
    "foreign offering": (replace(ROW, offering="x"), ours(), Difference.OFFERING, Act.TELL),
}


@pytest.mark.parametrize("case", CASES)
def test_each_difference_alone(case):
    there, known, kind, act = CASES[case]
    (one,) = found(union(there), known)
    assert (one.kind, one.act, one.instance, one.server) == (kind, act, "i-1", "s1")
    assert one.cause
    assert one.remedy or act is not Act.TELL


def test_a_host_that_is_gone_and_one_that_changed():
    (gone,) = found(union(ROW, hosts=()), ours())
    assert gone.kind is Difference.HOST_REMOVED
    (moved,) = found(union(replace(ROW, host="h200-b"), hosts=("h200-a", "h200-b")), ours())
    assert (moved.kind, moved.there, moved.act) == (Difference.HOST, "h200-b", Act.REMEMBER)


def test_an_instance_that_was_never_heard_of_is_told_where_it_counts_on_a_machine():
    (one,) = found(union(ROW))
    assert (one.kind, one.server, one.act) == (Difference.RUNNING_UNKNOWN, None, Act.TELL)
    assert found(union(replace(ROW, state="Error"))) == ()
    assert found(union(replace(ROW, host=""))) == ()


def test_a_deleted_one_that_was_never_fenced_may_still_use_its_address():
    deleted = ours(phase=Phase.ENDED, ended_at=1.0, is_deleted=True)
    (one,) = found(union(), deleted)
    assert (one.kind, one.act) == (Difference.ADDRESS_IN_USE, Act.TELL)


@pytest.mark.parametrize(
    "view",
    [
        replace(OFF_WANTED, commanding=True),
        replace(OFF_WANTED, fresh=False),
        replace(OFF_WANTED, quarantined=True),
        replace(OFF_WANTED, on_confirmed=False),
        ON,
    ],
    ids=["a command runs", "too old", "quarantined", "not seen on", "wanted on"],
)
def test_nothing_is_switched_off_on_a_doubt(view):
    there = union(replace(ROW, state="Stopped"))
    assert Difference.STOPPED_ON not in [each.kind for each in found(there, ours(view))]


def test_an_id_is_the_same_as_long_as_the_difference_is():
    (first,) = found(union(replace(ROW, owner="ROOT/bob")), ours())
    (again,) = found(union(replace(ROW, owner="ROOT/bob")), ours())
    (other,) = found(union(replace(ROW, owner="ROOT/eve")), ours())
    assert first.id == again.id != other.id


# --- absence -------------------------------------------------------------------------------
OTHERS = tuple(replace(ROW, instance=f"o-{n}") for n in range(20))


HEARD_OF = ("i-1", *(row.instance for row in OTHERS))


def after(*looks, known=HEARD_OF, living=("i-1",), deleted=()):
    cloud = Cloud()
    for at, rows, more in looks:
        cloud = cloud.after(union(*rows, at=at, **more), known, living, deleted)
    return cloud


@pytest.mark.parametrize(
    ("looks", "absent"),
    [
        ([0, 450, 900], True),
        ([0, 450, 899], False),
        ([0, 900], False),
        ([0, 300, 600, 900], True),
    ],
)
def test_absent_is_missing_from_three_unions_over_a_quarter_of_an_hour(looks, absent):
    cloud = after(*((at, OTHERS, {}) for at in looks))
    assert cloud.is_absent("i-1") is absent
    claimed = [each.kind for each in compare(cloud, [ours()], SIZES)]
    assert (Difference.CLAIMED_UNKNOWN in claimed) is absent


def test_one_that_was_seen_again_begins_anew():
    there = (0, OTHERS, {}), (450, OTHERS, {}), (800, (*OTHERS, ROW), {}), (900, OTHERS, {})
    assert not after(*there).is_absent("i-1")


def test_a_union_without_our_extension_or_hosts_is_no_look():
    blind = {"sees_ours": False}
    cloud = after((0, OTHERS, {}), (450, (), blind), (900, (), blind), (1350, (), blind))
    assert not cloud.is_absent("i-1")
    assert "is this the key?" in cloud.doubt
    assert cloud.union.at == 0


def test_a_list_that_lost_many_at_once_is_not_believed():
    cloud = after((0, OTHERS, {}), (450, (), {}), (900, (), {}), (2000, OTHERS[:17], {}))
    assert not cloud.is_absent("i-1")
    assert "3 of 20 instances are gone at once" in cloud.doubt


@pytest.mark.parametrize(("lost", "believed"), [(2, True), (3, False)])
def test_a_tenth_of_a_list_may_go_at_once_and_no_more(lost, believed):
    cloud = after((0, OTHERS, {}), (450, OTHERS[lost:], {}))
    assert (cloud.doubt == "") is believed
    assert cloud.union.at == (450 if believed else 0)


@pytest.mark.parametrize(
    ("shown", "believed"), [(OTHERS, True), (OTHERS[:18], True), (OTHERS[:17], False), ((), False)]
)
def test_the_first_list_after_a_start_is_held_against_those_that_have_a_server(shown, believed):
    living = [row.instance for row in OTHERS]
    looks = [(at, shown, {}) for at in (0, 450, 899)]
    cloud = after(*looks, living=living)
    assert (cloud.doubt == "") is believed
    assert after(*looks, living=living, deleted=living).doubt == ""


def test_what_was_never_heard_of_here_may_go_in_numbers():
    few = [row.instance for row in OTHERS[:2]]
    looks = (0, OTHERS, {}), (450, OTHERS[1:2], {})
    assert after(*looks, known=few).doubt == ""  # 18 were never started here, and one is gone
    assert after((0, OTHERS, {}), (450, OTHERS[2:], {}), known=few).doubt == (
        "2 of 2 instances are gone at once"
    )


FEWER, BLIND_LOOK = OTHERS[3:], {"sees_ours": False}
LOSSES = {
    "three over a quarter of an hour": ([(450, FEWER, {}), (900, FEWER, {}), (1350, FEWER, {})], 1),
    "too short": ([(450, FEWER, {}), (900, FEWER, {}), (1349, FEWER, {})], 0),
    "two": ([(450, FEWER, {}), (1350, FEWER, {})], 0),
    "one came back and went": (
        [(450, FEWER, {}), (900, OTHERS[2:], {}), (1200, FEWER, {}), (1350, FEWER, {})],
        2,
    ),
    "one more went": ([(450, FEWER, {}), (900, OTHERS[4:], {}), (1350, OTHERS[4:], {})], 0),
    "another one": (
        [(450, FEWER, {}), (900, FEWER, {}), (1350, (OTHERS[0], *OTHERS[4:]), {})],
        0,
    ),
    "blind between": (
        [(450, FEWER, {}), (900, FEWER, BLIND_LOOK), (1100, FEWER, {}), (1350, FEWER, {})],
        0,
    ),
    "blind in the end": ([(450, FEWER, {}), (900, FEWER, {}), (1350, FEWER, BLIND_LOOK)], 0),
    "nothing at all is shown": ([(at, (), {}) for at in (450, 900, 1350, 9000)], 0),
}


@pytest.mark.parametrize("case", LOSSES)
def test_a_loss_that_stands_becomes_what_the_next_list_is_held_against(case):
    looks, believed = LOSSES[case]
    cloud = after((0, OTHERS, {}), *looks)
    assert (cloud.doubt == "") is bool(believed)
    assert (cloud.loss is None) is (bool(believed) or case == "blind in the end")


def test_what_a_standing_loss_lacks_is_absent_after_as_many_lists_as_ever():
    looks = [(at, FEWER, {}) for at in range(450, 2251, 450)]
    assert not after((0, OTHERS, {}), *looks[:4]).is_absent("o-0")
    cloud = after((0, OTHERS, {}), *looks)
    assert cloud.is_absent("o-0")
    assert not cloud.is_absent("o-3")


def test_the_first_list_after_a_start_is_believed_too_once_its_loss_stands():
    living = [row.instance for row in OTHERS]
    looks = [(at, FEWER, {}) for at in (0, 450, 900)]
    assert after(*looks[:2], living=living).doubt == "3 of 20 instances are gone at once"
    assert after(*looks, living=living).doubt == ""


def test_what_was_deleted_or_in_error_may_go_in_numbers():
    rows = (*OTHERS[:10], *(replace(row, state="Error") for row in OTHERS[10:]))
    deleted = [row.instance for row in OTHERS[2:10]]
    cloud = after((0, rows, {}), (450, OTHERS[:2], {}), deleted=deleted)
    assert cloud.doubt == ""


def test_one_more_missing_is_believed_in_a_small_pool_too():
    assert after((0, (OTHERS[0], ROW), {}), (450, (OTHERS[0],), {})).doubt == ""


def test_without_a_union_nothing_is_said():
    assert compare(Cloud(), [ours()], SIZES) == ()


# --- whose word a delete takes -----------------------------------------------------------------
def said(cloud, now, instance="i-1"):
    return cloud.is_protected(instance, now=now)


@pytest.mark.parametrize("is_protected", [True, False, None])
def test_a_list_says_for_ten_minutes_whether_an_instance_is_protected(is_protected):
    cloud = after((1000.0, (replace(ROW, is_protected=is_protected),), {}))
    assert LIST_YOUNG_S == 600.0
    assert said(cloud, 1600.0) is is_protected
    assert said(cloud, 1600.1) is None


def test_what_no_believed_list_shows_is_not_known():
    free = replace(ROW, is_protected=False)
    assert said(Cloud(), 0.0) is None
    assert said(after((0.0, (free,), {"sees_ours": False})), 0.0) is None
    assert said(after((0.0, (free,), {})), 0.0, "i-2") is None


def test_a_list_that_is_not_believed_leaves_the_last_one_s_word_as_old_as_it_is():
    looks = (0.0, (replace(ROW, is_protected=True),), {}), (450.0, (), {"sees_ours": False})
    assert said(after(*looks), 600.0) is True
    assert said(after(*looks), 601.0) is None
