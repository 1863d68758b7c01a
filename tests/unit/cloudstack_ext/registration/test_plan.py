"""The plan, as tables of values: wanted, found, remembered -> steps or reasons."""

from dataclasses import replace
from pathlib import Path

import pytest

from cloudstack_ext.registration.found import Found, Instance
from cloudstack_ext.registration.model import (
    LATER,
    Act,
    Kind,
    Remembered,
    Thing,
    mark_of,
)
from cloudstack_ext.registration.places import Places
from cloudstack_ext.registration.plan import extension_and_cluster, make_plan
from cloudstack_ext.registration.wanted import parse_wanted
from cloudstack_ext.registration.wishes import wishes
from tests.unit.cloudstack_ext.registration.rig import FILE, steps

DATABASE = "db"
OWN = "admin@root"
PLACES = Places(
    zone="z",
    pod="p",
    account=OWN,
    systems={"Debian GNU/Linux 12 (64-bit)": "os1", "Ubuntu 24.04 LTS": "os2"},
    domains={"ROOT/acme": "d1"},
)
FOREIGN = "11111111-2222-3333-4444-555555555555"


class World:
    """All registered as the file wants it, until a test changes something."""

    def __init__(self, text=FILE):
        self.wanted = parse_wanted(text, source="f", folder=Path())
        self.things, self.rows = {}, {}
        for number, wish in enumerate(wishes(self.wanted, PLACES), 1):
            identifier = f"{wish.kind}-{number}"
            self.things[wish.kind, wish.name] = Thing(
                kind=wish.kind,
                id=identifier,
                name=wish.name,
                fields=dict(wish.fields),
                details=dict(wish.details),
                mark=mark_of(DATABASE, wish.kind, wish.name),
                owner=OWN if wish.kind is Kind.TEMPLATE else "",
                shared=bool(wish.fields.get("domainid")),
                hidden=wish.fields.get("ispublic") == "false",
            )
            self.rows[wish.kind, wish.name] = Remembered(
                number=number, kind=wish.kind, name=wish.name, id=identifier, facts=wish.facts
            )
        self.instances = []
        extension = self.things[Kind.EXTENSION, "rackwright"].id
        cluster = self.things[Kind.CLUSTER, "metal1"].id
        for key, thing in self.things.items():
            for name, value in (("extensionid", extension), ("clusterid", cluster)):
                if name in thing.fields:
                    self.change(key, **{name: value})

    def want(self, *pairs):
        text = FILE
        for old, new in pairs:
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        self.wanted = parse_wanted(text, source="f", folder=Path())

    def change(self, key, **fields):
        thing = self.things[key]
        self.things[key] = replace(thing, fields={**thing.fields, **fields})

    def put(self, key, **attributes):
        self.things[key] = replace(self.things[key], **attributes)

    def lose(self, key):
        """Not remembered any more."""
        return self.rows.pop(key)

    def found(self):
        return Found(things=tuple(self.things.values()), instances=tuple(self.instances))

    def plan(self):
        found, rows = self.found(), tuple(self.rows.values())
        extension, cluster = extension_and_cluster(rows, found, database=DATABASE)
        wished = wishes(self.wanted, PLACES, extension=extension, cluster=cluster)
        return make_plan(wished, found, rows, database=DATABASE, account=OWN)


EXTENSION, CLUSTER = (Kind.EXTENSION, "rackwright"), (Kind.CLUSTER, "metal1")
HOST, OTHER_HOST = (Kind.HOST, "h200-a"), (Kind.HOST, "general-a")
ACTION, TEMPLATE, PRIVATE = (
    (Kind.ACTION, "why"),
    (Kind.TEMPLATE, "Debian 12"),
    (Kind.TEMPLATE, "Ubuntu"),
)
OFFERING, BOUND = (Kind.OFFERING, "bm.general"), (Kind.OFFERING, "bm.h200x8")
EACH = [EXTENSION, CLUSTER, HOST, ACTION, TEMPLATE, OFFERING]


@pytest.fixture
def world():
    return World()


# --- nothing, and everything ----------------------------------------------------------------
def test_what_is_as_it_should_be_is_left_alone(world):
    plan = world.plan()
    assert (plan.steps, plan.refusals, plan.notices, plan.untouched) == ((), (), (), 11)


def test_of_an_empty_zone_everything_is_made_and_the_path_waited_for_before_the_hosts(world):
    world.things, world.rows = {}, {}
    plan = world.plan()
    kinds = [step.kind for step in plan.steps if step.act is Act.MAKE]
    assert kinds == sorted(kinds, key=list(Kind).index)
    assert len(kinds) == 11
    acts = [(step.act, step.kind) for step in plan.steps]
    assert acts.index((Act.WAIT, Kind.EXTENSION)) + 1 == acts.index((Act.MAKE, Kind.HOST))
    assert plan.refusals == ()


def test_what_belongs_to_things_that_are_not_made_yet_names_them_later(world):
    world.things, world.rows = {}, {}
    assert extension_and_cluster((), world.found(), database=DATABASE) == (LATER, LATER)


def test_an_api_that_shows_nothing_of_what_is_registered_makes_nothing_be_registered_anew(world):
    world.things = {}
    plan = world.plan()
    assert plan.steps == ()
    assert "shows none of 11 registered objects" in plan.refusals[0]


# --- whose is it ----------------------------------------------------------------------------
@pytest.mark.parametrize("key", EACH)
@pytest.mark.parametrize("mark", ["", "other-db/host/h200-a", "db/offering/another"])
def test_an_object_of_our_memory_without_our_mark_is_never_touched(world, key, mark):
    world.put(key, mark=mark)
    world.change(key, description="x", displaytext="x", hosttags="x", arch="x")
    plan = world.plan()
    assert [step for step in plan.steps if (step.kind, step.name) == key] == []
    assert any(mark_of(DATABASE, *key) in refusal for refusal in plan.refusals)


@pytest.mark.parametrize("key", EACH)
def test_an_object_with_our_mark_that_is_not_remembered_is_taken_over(world, key):
    world.lose(key)
    assert steps(world.plan()) == [("take over", *map(str, key))]


@pytest.mark.parametrize("key", EACH)
def test_what_was_being_made_when_all_was_cut_off_is_taken_over_not_made_twice(world, key):
    world.rows[key] = replace(world.rows[key], id=None)
    plan = world.plan()
    assert steps(plan) == [("take over", *map(str, key))]
    assert plan.steps[0].row == world.rows[key].number


def test_what_is_being_made_anew_is_not_mistaken_for_the_old_one_that_bears_the_same_mark(world):
    row = world.rows[OFFERING]
    world.rows["old"] = replace(row, number=99, retired=True)
    world.rows[OFFERING] = replace(row, id=None)
    assert steps(world.plan()) == [("make", *map(str, OFFERING)), ("retire", *map(str, OFFERING))]


def test_what_differs_is_changed_as_it_is_taken_over(world):
    world.lose(OFFERING)
    world.change(OFFERING, displaytext="old")
    (step,) = world.plan().steps
    assert (step.act, [each.field for each in step.changes]) == (Act.TAKE_OVER, ["displaytext"])


def test_a_template_that_a_tenant_made_with_our_mark_is_left_alone(world):
    world.lose(TEMPLATE)
    world.put(TEMPLATE, owner="alice@acme")
    plan = world.plan()
    assert steps(plan) == [("make", *map(str, TEMPLATE))]
    assert "is of alice@acme: left alone" in plan.notices[0]


def test_a_tenants_copy_beside_our_own_changes_nothing(world):
    copy = replace(world.things[TEMPLATE], id="copy", owner="alice@acme")
    world.things["copy"] = copy
    assert steps(world.plan()) == []


def test_an_offering_that_a_domains_admin_may_have_made_is_taken_over_only_while_it_is_made(world):
    row = world.lose(BOUND)
    plan = world.plan()
    assert steps(plan) == [("make", *map(str, BOUND))]
    assert "left alone" in plan.notices[0]
    world.rows[BOUND] = replace(row, id=None)
    assert steps(world.plan()) == [("take over", *map(str, BOUND))]


def test_two_objects_with_one_mark_are_for_a_person_to_choose_from(world):
    world.lose(OFFERING)
    world.things["twin"] = replace(world.things[OFFERING], id="twin")
    plan = world.plan()
    assert plan.steps == ()
    assert "2 objects bear its mark (offering-11, twin)" in plan.refusals[0]


@pytest.mark.parametrize("key", [EXTENSION, CLUSTER, HOST, ACTION])
@pytest.mark.parametrize("mark", ["", "other-db/x/y"])
def test_a_name_that_somebody_elses_object_has_is_refused(world, key, mark):
    world.lose(key)
    world.put(key, mark=mark, id="strange")
    plan = world.plan()
    assert any("the name is taken by strange" in refusal for refusal in plan.refusals)
    assert ("make", *map(str, key)) not in steps(plan)


@pytest.mark.parametrize("key", [TEMPLATE, OFFERING])
def test_a_template_or_offering_of_somebody_else_may_have_the_same_name(world, key):
    world.lose(key)
    world.put(key, mark="", id="strange", owner="alice@acme")
    plan = world.plan()
    assert steps(plan) == [("make", *map(str, key))]
    assert "somebody else's has the same name (strange)" in plan.notices[0]


def test_a_cluster_that_was_made_and_not_yet_registered_is_ours_while_it_is_being_made(world):
    world.change(CLUSTER, extensionid="")
    world.put(CLUSTER, mark="")
    row = world.rows[CLUSTER] = replace(world.rows[CLUSTER], id=None)
    for key in (HOST, OTHER_HOST):
        world.rows.pop(key)
        world.things.pop(key)
    plan = world.plan()
    assert plan.refusals == ()
    assert steps(plan)[0] == ("take over", "cluster", "metal1")
    world.rows[CLUSTER] = replace(row, id="another")
    assert "the name is taken" in world.plan().refusals[0]


def test_a_cluster_that_somebody_unregistered_has_no_mark_and_is_registered_again(world):
    world.change(CLUSTER, extensionid="")
    world.put(CLUSTER, mark="")
    plan = world.plan()
    assert steps(plan) == [("change", *map(str, CLUSTER))]


# --- what differs ---------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("key", "fields"),
    [
        (EXTENSION, {"description": "x"}),
        (EXTENSION, {"orchestratorrequirespreparevm": "false"}),
        (CLUSTER, {"arch": "aarch64"}),
        (CLUSTER, {"extensionid": ""}),
        (HOST, {"hosttags": "h200-a"}),
        (HOST, {"name": "renamed"}),
        (ACTION, {"enabled": "false"}),
        (ACTION, {"allowedroletypes": "DomainAdmin,User"}),
        (ACTION, {"parameters": "confirm STRING NONE required"}),
        (ACTION, {"timeout": "3"}),
        (TEMPLATE, {"displaytext": "x"}),
        (TEMPLATE, {"ispublic": "false"}),
        (OFFERING, {"hosttags": "elsewhere"}),
        (OFFERING, {"domainid": "d1"}),
        (OFFERING, {"state": "Inactive"}),
    ],
)
def test_what_has_an_update_is_changed(world, key, fields):
    world.change(key, **fields)
    (step,) = world.plan().steps
    assert (step.act, step.kind, step.name) == (Act.CHANGE, *key)
    assert [each.field for each in step.changes] == list(fields)
    assert [each.old for each in step.changes] == list(fields.values())


@pytest.mark.parametrize("key", [HOST, TEMPLATE])
@pytest.mark.parametrize("details", [{}, {"image": "other", "pool": "other"}, {"more": "x"}])
def test_details_that_differ_are_changed_extra_ones_too(world, key, details):
    world.put(key, details=details)
    (step,) = world.plan().steps
    assert step.act is Act.CHANGE
    assert all(each.field.startswith("details.") for each in step.changes)


@pytest.mark.parametrize("field", ["cpunumber", "cpuspeed", "memory", "gpucount", "offerha"])
def test_what_has_no_update_is_made_anew_and_the_old_one_retired_last(world, field):
    world.change(OFFERING, **{field: "7"})
    plan = world.plan()
    assert steps(plan) == [("replace", *map(str, OFFERING)), ("retire", *map(str, OFFERING))]
    assert plan.steps[1].id == world.things[OFFERING].id


@pytest.mark.parametrize(
    ("key", "fields", "said"),
    [
        (EXTENSION, {"path": "rackwright/other"}, "path cannot be changed"),
        (CLUSTER, {"podid": "p2"}, "podid cannot be changed"),
        (CLUSTER, {"zoneid": "z2"}, "zoneid cannot be changed"),
        (CLUSTER, {"extensionid": "ext-2"}, "belongs to another extension (ext-2)"),
        (HOST, {"clusterid": "c2"}, "clusterid cannot be changed"),
    ],
)
def test_what_can_neither_be_changed_nor_made_anew_is_refused(world, key, fields, said):
    world.change(key, **fields)
    plan = world.plan()
    assert any(said in refusal for refusal in plan.refusals)
    assert plan.steps == ()


def test_what_somebody_deleted_is_made_anew_and_that_is_said(world):
    world.things.pop(OFFERING)
    (step,) = world.plan().steps
    assert (step.act, step.why) == (Act.MAKE, "it was registered, and somebody has deleted it")


def test_a_host_that_is_made_beside_others_waits_for_the_path_too(world):
    world.things.pop(HOST)
    assert steps(world.plan()) == [
        ("wait", "extension", "rackwright"),
        ("make", "host", "h200-a"),
    ]


def test_facts_that_the_service_holds_wrongly_are_told_it(world):
    world.rows[TEMPLATE] = replace(world.rows[TEMPLATE], facts={"image": "old"})
    assert steps(world.plan()) == [("remember", *map(str, TEMPLATE))]


# --- what is wanted no more -----------------------------------------------------------------
DEBIAN = next(line for line in FILE.splitlines(keepends=True) if "Debian 12, image" in line)
GENERAL = ("  - {name: bm.general, pool: general, cpu: 32, mhz: 2400, memory_mib: 262144}\n", "")


@pytest.mark.parametrize(
    ("line", "step"),
    [
        (GENERAL[0], ("retire", "offering", "bm.general")),
        ("  - {name: why}\n", ("remove", "action", "why")),
        (DEBIAN, ("retire", "template", "Debian 12")),
    ],
)
def test_what_the_file_names_no_more_is_retired_or_removed(world, line, step):
    world.want((line, ""))
    assert steps(world.plan()) == [step]


WITHOUT_GENERAL = (("  - {host: general-a, tag: general-a, pool: general}\n", ""), GENERAL)


def test_a_host_goes_last_of_what_the_file_names_no_more(world):
    world.want(*WITHOUT_GENERAL)
    assert steps(world.plan()) == [
        ("retire", "offering", "bm.general"),
        ("remove", "host", "general-a"),
    ]


def test_a_host_with_an_instance_also_a_stopped_one_stays(world):
    host = world.things[OTHER_HOST].id
    world.instances = [
        Instance(id="i", name="vm", state="Stopped", host=host, template="", offering="")
    ]
    world.want(*WITHOUT_GENERAL)
    assert world.plan().refusals == ("host general-a has instances: vm (i)",)


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("{name: metal1}", "{name: metal2}", "cluster metal1"),
        ("pod: pod1", "pod: pod1\nextension: {name: other}", "extension rackwright"),
    ],
)
def test_another_cluster_or_extension_needs_an_end_of_the_first(world, old, new, key):
    world.want((old, new))
    assert any(
        f"{key} is registered and the file names another" in each for each in world.plan().refusals
    )


@pytest.mark.parametrize("hidden", [True, False])
def test_a_retired_one_stays_retired(world, hidden):
    old = replace(world.things[OFFERING], id="old", hidden=hidden)
    world.things["old"] = old
    row = world.rows[OFFERING]
    world.rows["old"] = replace(row, number=99, id="old", retired=True)
    assert steps(world.plan()) == ([] if hidden else [("retire", *map(str, OFFERING))])


def test_what_is_wanted_no_more_and_bears_another_mark_is_left_alone(world):
    world.want(GENERAL)
    world.put(OFFERING, mark="other")
    plan = world.plan()
    assert plan.steps == ()
    assert "left alone" in plan.notices[0]


def test_what_is_wanted_no_more_and_is_gone_is_forgotten(world):
    world.want(GENERAL)
    world.things.pop(OFFERING)
    assert steps(world.plan()) == [("forget", *map(str, OFFERING))]


def test_a_template_of_somebody_else_is_remembered_and_forgotten_by_its_id(world):
    more = f"foreign_templates: [{{id: {FOREIGN}, image: ubuntu}}]\nsizes:"
    world.want(("sizes:", more))
    (step,) = world.plan().steps
    assert (step.act, step.kind, step.name) == (Act.REMEMBER, Kind.FOREIGN_TEMPLATE, FOREIGN)
    world.rows["foreign"] = Remembered(
        number=50, kind=step.kind, name=FOREIGN, id=FOREIGN, facts={"image": "ubuntu"}
    )
    assert world.plan().steps == ()
    world.want()
    assert steps(world.plan()) == [("forget", "foreign-template", FOREIGN)]
