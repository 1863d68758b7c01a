"""A registration against an API server that behaves as the real one."""

from dataclasses import replace

import pytest

from cloudstack_ext.api_server.faults import Fault, FaultKind, When
from cloudstack_ext.api_server.model.accounts import Permission, Role, RoleType, Rule
from cloudstack_ext.registration.model import Kind
from provisioner.errors import (
    ConflictError,
    ErrorCode,
    InputError,
    OperatorError,
    RackwrightError,
    TransientError,
)
from tests.unit.cloudstack_ext.registration.rig import DATABASE, shape, steps

pytestmark = pytest.mark.emulated

RULES = (
    "list*", "query*", "createExtension", "addCluster", "addCustomAction", "registerTemplate",
)  # fmt: skip
MADE = 11
"""Objects of the file: cut off before it, the making of each ends a walk."""
CHANGED = (
    ("more_tags: [gpu]", "more_tags: [gpu, fast]"),
    ("{name: why}", "{name: why, enabled: false}"),
    ("  - {name: cordon, roles: [Admin]}\n", "  - {name: health-check}\n"),
    ("image: debian-12, os", "image: debian-13, text: New, os"),
    ("public: false", "public: true"),
    ("memory_mib: 262144", "memory_mib: 524288"),
    ("domains: [ROOT/acme]", "domains: []"),
    (
        "sizes:",
        "foreign_templates:\n  - {id: 11111111-2222-3333-4444-555555555555, image: ubuntu}\nsizes:",
    ),
)


def test_an_empty_zone_gets_everything_in_order_and_then_nothing(zone):
    plan = zone.apply()
    assert plan.refusals == ()
    assert steps(plan) == [
        ("make", "extension", "rackwright"),
        ("make", "cluster", "metal1"),
        ("wait", "extension", "rackwright"),
        ("make", "host", "h200-a"),
        ("make", "host", "general-a"),
        ("make", "action", "reinstall"),
        ("make", "action", "why"),
        ("make", "action", "cordon"),
        ("make", "template", "Debian 12"),
        ("make", "template", "Ubuntu"),
        ("make", "offering", "bm.h200x8"),
        ("make", "offering", "bm.general"),
    ]
    again = zone.plan()
    assert steps(again) == []
    assert again.untouched == MADE
    assert again.notices == ()


def test_a_second_apply_changes_nothing(zone):
    zone.apply()
    before = zone.calls()
    zone.apply()
    assert zone.calls() == before


def test_what_is_made_is_as_a_deployment_needs_it(zone):
    zone.apply()
    state = zone.state
    (extension,) = state.extensions.values()
    assert extension.prepare is True
    assert extension.details == {"rackwright": f"{DATABASE}/extension/rackwright"}
    (registration,) = state.registrations.values()
    assert registration.details == {"rackwright": f"{DATABASE}/cluster/metal1"}
    hosts = {each.name: each for each in state.hosts.values()}
    assert set(hosts["h200-a"].tags) == {"gpu", "h200-a"}
    assert hosts["h200-a"].details == {
        "pool": "h200",
        "host": "h200-a",
        "rackwright": f"{DATABASE}/host/h200-a",
    }
    assert hosts["general-a"].details["pool"] == "general"
    offerings = {each.name: each for each in state.offerings.values()}
    assert offerings["bm.h200x8"].tags == "h200-a"
    assert offerings["bm.h200x8"].gpus == 8
    assert offerings["bm.h200x8"].ha is False
    acme = next(each.id for each in state.domains.values() if each.name == "acme")
    assert offerings["bm.h200x8"].domains == (acme,)
    assert offerings["bm.general"].domains == ()
    templates = {each.name: each for each in state.templates.values()}
    assert templates["Debian 12"].details["External:image"] == "debian-12"
    actions = {each.name: each for each in state.actions.values()}
    assert actions["reinstall"].timeout_s == 20
    assert actions["reinstall"].enabled is True
    assert "run why" in actions["reinstall"].error_message
    assert [each["name"] for each in actions["reinstall"].parameters] == ["confirm", "image"]
    assert actions["cordon"].roles == ("Admin",)


def test_what_the_service_needs_to_know_later_is_remembered_with_each_id(zone):
    zone.apply()
    rows = {(row.kind, row.name): row for row in zone.memory.kept.values()}
    template = rows[Kind.TEMPLATE, "Debian 12"]
    assert template.facts == {"image": "debian-12"}
    assert template.id in zone.state.templates
    assert rows[Kind.OFFERING, "bm.general"].facts == {"pool": "general"}


def test_a_host_is_added_only_after_a_check_that_saw_the_entry(zone):
    began = zone.clock.wall()
    zone.apply()
    added = min(each.created for each in zone.state.hosts.values())
    assert added - began >= 60.0


def test_a_path_that_does_not_become_ready_ends_the_walk_and_the_next_goes_on(zone, tmp_path):
    (server,) = zone.state.servers.values()
    server.extensions = tmp_path
    with pytest.raises(TransientError) as caught:
        zone.apply()
    assert caught.value.code is ErrorCode.REGISTRATION_PATH
    assert not zone.state.hosts
    entry = tmp_path / "rackwright" / "rackwright-entry"
    entry.parent.mkdir()
    entry.write_text("#!/bin/sh\n")
    entry.chmod(0o755)
    zone.apply()
    assert steps(zone.plan()) == []


def test_every_change_reaches_cloudstack_by_its_own_update_and_only_what_has_none_is_made_anew(
    zone,
):
    zone.apply()
    before = zone.calls()
    zone.want(*CHANGED)
    plan = zone.apply()
    assert sorted(steps(plan)) == sorted(
        [
            ("change", "host", "h200-a"),
            ("change", "action", "why"),
            ("make", "action", "health-check"),
            ("change", "template", "Debian 12"),
            ("change", "template", "Ubuntu"),
            ("change", "offering", "bm.h200x8"),
            ("replace", "offering", "bm.general"),
            ("retire", "offering", "bm.general"),
            ("remember", "foreign-template", "11111111-2222-3333-4444-555555555555"),
            ("remove", "action", "cordon"),
        ]
    )
    assert zone.calls()[len(before) :] == [
        "updateHost",
        "updateCustomAction",
        "addCustomAction",
        "updateTemplate",
        "updateTemplatePermissions",
        "updateServiceOffering",
        "createServiceOffering",
        "updateServiceOffering",
        "deleteCustomAction",
    ]
    assert steps(zone.plan()) == []
    offerings = sorted(
        (each.name, each.memory_mib, each.state.value) for each in zone.state.offerings.values()
    )
    assert offerings == [
        ("bm.general", 262144, "Inactive"),
        ("bm.general", 524288, "Active"),
        ("bm.h200x8", 2097152, "Active"),
    ]
    host = next(each for each in zone.state.hosts.values() if each.name == "h200-a")
    assert host.details["rackwright"] == f"{DATABASE}/host/h200-a"
    template = next(each for each in zone.state.templates.values() if each.name == "Debian 12")
    assert template.details["External:image"] == "debian-13"
    assert template.details["External:rackwright"] == f"{DATABASE}/template/Debian 12"


def test_a_cluster_that_somebody_unregistered_is_registered_again_with_its_mark(zone):
    zone.apply()
    zone.state.registrations.clear()
    assert steps(zone.apply()) == [("change", "cluster", "metal1")]
    (registration,) = zone.state.registrations.values()
    assert registration.details == {"rackwright": f"{DATABASE}/cluster/metal1"}
    assert steps(zone.plan()) == []


def test_details_of_a_template_that_are_not_ours_stay(zone):
    zone.apply()
    template = next(each for each in zone.state.templates.values() if each.name == "Debian 12")
    template.details["keyboard"] = "de"
    zone.want(("image: debian-12, os", "image: debian-13, os"))
    zone.apply()
    assert template.details["keyboard"] == "de"
    assert template.details["External:image"] == "debian-13"


def test_a_new_mark_of_another_database_is_never_overwritten(zone):
    zone.apply()
    offering = next(each for each in zone.state.offerings.values() if each.name == "bm.general")
    offering.details["External:rackwright"] = "other/offering/bm.general"
    zone.want(("mhz: 2400", "mhz: 2500"))
    before = zone.calls()
    with pytest.raises(ConflictError, match="has the mark other/offering"):
        zone.apply()
    assert zone.calls() == before
    assert offering.cpu_mhz == 2400


def test_a_database_that_was_lost_takes_its_own_over_by_their_marks(zone):
    zone.apply()
    wanted = shape(zone)
    zone.memory.kept.clear()
    plan = zone.apply()
    acts = {step.act.value for step in plan.steps}
    # an offering of a domain may be its administrator's own: it is made again beside it
    assert acts == {"take over", "make"}
    assert [step.name for step in plan.steps if step.act == "make"] == ["bm.h200x8"]
    assert steps(zone.plan()) == []
    assert shape(zone)["hosts"] == wanted["hosts"]


def test_a_template_that_a_tenant_copied_with_our_mark_is_not_taken_over(zone):
    zone.apply()
    template = next(each for each in zone.state.templates.values() if each.name == "Debian 12")
    alice = next(each.id for each in zone.state.accounts.values() if each.name == "alice")
    zone.state.templates["copy"] = replace(template, id="copy", account=alice)
    row = next(row for row in zone.memory.kept.values() if row.name == "Debian 12")
    zone.memory.kept.pop(row.number)
    del zone.state.templates[template.id]
    plan = zone.apply()
    assert ("make", "template", "Debian 12") in steps(plan)
    assert any("left alone" in notice for notice in plan.notices)
    row = next(row for row in zone.memory.kept.values() if row.name == "Debian 12")
    assert row.id != "copy"


# --- refused before anything is made ---------------------------------------------------------
def test_a_key_without_a_rule_is_told_all_that_it_lacks_before_anything_is_made(zone):
    zone.user = "dadmin"
    with pytest.raises(InputError) as caught:
        zone.apply()
    assert caught.value.code is ErrorCode.CLOUDSTACK_RIGHTS
    for rule in ("listClusters", "listHosts", "listExtensions", "listPods"):
        assert rule in caught.value.brief
    assert zone.calls() == []


def test_a_key_that_lacks_one_rule_of_the_plan_is_told_it_before_anything_is_made(zone):
    state = zone.state
    allowed = [
        Rule(id=str(n), rule=rule, permission=Permission.ALLOW) for n, rule in enumerate(RULES)
    ]
    role = Role(id="r", name="registrar", type=RoleType.ADMIN, rules=allowed)
    state.roles["r"] = role
    admin = next(each for each in state.accounts.values() if each.name == "admin")
    admin.role = "r"
    with pytest.raises(InputError) as caught:
        zone.apply()
    assert caught.value.code is ErrorCode.CLOUDSTACK_RIGHTS
    assert caught.value.brief.endswith("the rules addHost, createServiceOffering")
    assert zone.calls() == []
    allowed += [
        Rule(id=name, rule=name, permission=Permission.ALLOW) for name in ("addHost", "create*")
    ]
    zone.apply()
    assert steps(zone.plan()) == []


def test_a_cluster_made_and_not_registered_when_all_was_cut_is_taken_over_mark_first(zone):
    """As a management server that died between the two halves of addCluster leaves it."""
    zone.apply()
    rows = zone.memory.kept.values()
    row = next(row for row in rows if row.kind is Kind.CLUSTER)
    zone.memory.kept = {row.number: row for row in rows if row.kind is not Kind.HOST}
    zone.memory.kept[row.number] = replace(row, id=None)
    zone.state.registrations.clear()
    zone.state.hosts.clear()
    fault = Fault(kind=FaultKind.CUT, when=When.AFTER, command="registerExtension")
    zone.server.faults.add(fault)
    with pytest.raises(TransientError):
        zone.apply()
    assert steps(zone.apply())[0] == ("take over", "cluster", "metal1")
    assert steps(zone.plan()) == []
    assert len(zone.state.clusters) == 1


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("zone: zone1", "zone: zone9", "zone: there is no zone9 in CloudStack"),
        ("pod: pod1", "pod: pod9", "pod: there is no pod9 in CloudStack"),
        ("os: Ubuntu 24.04 LTS", "os: Plan 9", "images.os: there is no Plan 9 in CloudStack"),
        ("[ROOT/acme]", "[ROOT/evil]", "sizes.domains: there is no ROOT/evil in CloudStack"),
    ],
)
def test_what_the_file_names_and_is_not_there_is_refused(zone, old, new, said):
    zone.want((old, new))
    with pytest.raises(ConflictError) as caught:
        zone.apply()
    assert said in caught.value.brief
    assert zone.calls() == []


def test_a_name_that_two_have_is_refused(zone):
    (pod,) = zone.state.pods.values()
    zone.state.pods["twin"] = replace(pod, id="twin")
    with pytest.raises(ConflictError, match="pod: 2 are called pod1"):
        zone.apply()


def test_a_zone_with_security_groups_is_refused(zone):
    (place,) = zone.state.zones.values()
    place.security_groups = True
    with pytest.raises(ConflictError, match="has security groups"):
        zone.apply()
    assert zone.calls() == []


def test_a_quota_ends_the_walk_in_one_line_and_the_next_apply_mends_it(zone):
    # words as recorded of another resource: CloudStack makes them all in one place
    text = (
        "Maximum amount of resources of Type = 'template', tag = 'null' for Account Name = admin in"
        " Domain Id = 1 is exceeded: Account Resource Limit = 4, Current Account Resource Amount ="
        " 4, Current Account Resource Reservation = 0, Requested Resource Amount = 1."
    )
    fault = Fault(kind=FaultKind.ERROR, command="registerTemplate", code=535, text=text)
    zone.server.faults.add(fault)
    with pytest.raises(OperatorError) as caught:
        zone.apply()
    assert caught.value.code is ErrorCode.CLOUDSTACK_REFUSED
    assert caught.value.brief.startswith("registerTemplate: Maximum amount of resources of Type")
    assert caught.value.brief.endswith(
        "Amount = 1.; raise that limit (updateResourceLimit) or remove something, and ask again"
    )
    zone.apply()
    assert steps(zone.plan()) == []


def test_a_quota_that_the_api_tells_is_refused_in_the_plan_and_nothing_is_made(zone, monkeypatch):
    from cloudstack_ext.api_server.handlers import HANDLERS

    def limited(call):
        found = HANDLERS["listAccounts"](call)
        for row in found["account"]:
            row |= {"templatelimit": "4", "templateavailable": "1"}
        return found

    handlers = {**HANDLERS, "listAccounts": limited}
    monkeypatch.setattr("cloudstack_ext.api_server.dispatch.HANDLERS", handlers)
    refused = (
        "account admin may have 4 templates and 1 are left, the plan makes 2: raise its limit"
        " (updateResourceLimit, resourcetype 4), or name fewer images"
    )
    assert zone.plan().refusals == (refused,)
    with pytest.raises(ConflictError, match="raise its limit"):
        zone.apply()
    assert zone.calls() == []
    monkeypatch.undo()
    zone.apply()
    assert steps(zone.plan()) == []


# --- an API that falters ---------------------------------------------------------------------
LISTS = (
    "listExtensions", "listClusters", "listHosts", "listCustomActions", "listTemplates",
    "listServiceOfferings",
)  # fmt: skip


@pytest.mark.parametrize("command", [*LISTS, None])
def test_an_empty_answer_is_no_absence_and_makes_nothing_anew(zone, command):
    zone.apply()
    before, wanted = zone.calls(), shape(zone)
    zone.server.faults.add(Fault(kind=FaultKind.EMPTY, command=command, times=None))
    with pytest.raises(RackwrightError):
        zone.apply()
    assert zone.calls() == before
    zone.server.faults.clear()
    assert steps(zone.apply()) == []
    assert shape(zone) == wanted


@pytest.mark.parametrize("kind", [FaultKind.ERROR, FaultKind.NOT_JSON])
@pytest.mark.parametrize("code", [401, 430, 431, 432, 502, 530])
def test_whatever_a_list_is_answered_with_nothing_is_made_of_it(zone, kind, code):
    zone.apply()
    before = zone.calls()
    for command in LISTS:
        zone.server.faults.add(Fault(kind=kind, command=command, code=code, times=None))
        with pytest.raises(RackwrightError):
            zone.apply()
        zone.server.faults.clear()
    assert zone.calls() == before


def test_the_last_object_of_its_kind_that_somebody_deleted_is_made_anew(zone):
    zone.apply()
    for offering in zone.state.offerings.values():
        offering.removed = True
    assert {step.act.value for step in zone.apply().steps} == {"make"}
    assert steps(zone.plan()) == []


# --- cut off --------------------------------------------------------------------------------
def _cut_at_every_call(begun, when, want=()):
    """Cut the walk at each of its calls in turn; all must end in one and the same shape."""
    with begun.again() as whole:
        whole.want(*want)
        whole.apply()
        calls, wanted = len(whole.server.calls.all()), shape(whole)
    cut = 0
    for number in range(1, calls + 1):
        with begun.again() as zone:
            zone.want(*want)
            zone.server.faults.add(Fault(kind=FaultKind.CUT, when=when, call=number))
            try:
                zone.apply()
            except TransientError:
                cut += 1
                zone.apply()
            assert steps(zone.plan()) == [], number
            assert shape(zone) == wanted, number
    return calls, cut


@pytest.mark.parametrize("when", list(When))
def test_a_first_apply_cut_at_any_call_is_ended_by_the_next_and_nothing_is_there_twice(zone, when):
    calls, cut = _cut_at_every_call(zone, when)
    # reads are asked again, lost makings looked up: most cuts do not even end the walk
    assert cut == (MADE if when is When.BEFORE else 0)
    assert calls > 2 * MADE


@pytest.mark.parametrize("when", list(When))
def test_an_apply_of_changes_cut_at_any_call_is_ended_by_the_next(zone, when):
    zone.apply()
    calls, cut = _cut_at_every_call(zone, when, CHANGED)
    assert cut >= 7
    assert calls > 20


class Lost:
    """A memory whose service ends at one of its writings, before it or after it."""

    def __init__(self, kept, number, when):
        self.kept, self.left, self.when = kept, number, when

    async def rows(self):
        return await self.kept.rows()

    async def begin(self, *given):
        return await self._cut(self.kept.begin, *given)

    async def settle(self, *given, retired=False):
        return await self._cut(self.kept.settle, *given, retired=retired)

    async def forget(self, *given):
        return await self._cut(self.kept.forget, *given)

    async def hold(self, *given):
        await self.kept.hold(*given)

    async def _cut(self, act, *given, **more):
        self.left -= 1
        if self.left == 0 and self.when is When.BEFORE:
            raise TransientError(ErrorCode.SERVICE_DOWN, "no answer")
        found = await act(*given, **more)
        if self.left == 0:
            raise TransientError(ErrorCode.SERVICE_DOWN, "no answer")
        return found


@pytest.mark.parametrize("when", list(When))
@pytest.mark.parametrize("want", [(), CHANGED], ids=["first", "changes"])
def test_our_own_service_may_end_at_any_of_its_writings_too(zone, when, want):
    if want:
        zone.apply()
    with zone.again() as whole:
        whole.want(*want)
        whole.apply()
        wanted = shape(whole)
    cut = 0
    for number in range(1, 100):
        with zone.again() as other:
            other.want(*want)
            kept = other.memory
            other.memory = Lost(kept, number, when)
            try:
                other.apply()
            except TransientError:
                cut += 1
            other.memory = kept
            other.apply()
            assert steps(other.plan()) == [], number
            assert shape(other) == wanted, number
            if cut < number:
                break
    # two for each thing that is made; of the changes two make something new
    assert cut == (9 if want else 2 * MADE)


@pytest.mark.parametrize("want", [(), CHANGED], ids=["first", "changes"])
def test_whoever_has_lost_the_turn_changes_nothing_more_and_the_next_apply_goes_on(zone, want):
    """Whichever of the questions before the changes is answered with somebody else's turn."""
    if want:
        zone.apply()
    before = len(zone.calls())
    with zone.again() as whole:
        whole.want(*want)
        whole.apply()
        wanted, sent, holds = shape(whole), whole.calls(), whole.memory.holds
    assert holds > 2 * len(sent) > 2
    lengths = []
    for number in range(1, holds + 1, 3):
        with zone.again() as other:
            other.want(*want)
            other.memory.taken_at = number
            with pytest.raises(TransientError) as caught:
                other.apply()
            assert caught.value.code is ErrorCode.REGISTRATION_BUSY
            # a question a step and one a call: what was sent never outruns the questions
            assert other.calls() == sent[: len(other.calls())]
            assert other.memory.holds == number
            lengths.append(len(other.calls()))
            other.memory.taken_at = None
            other.apply()
            assert steps(other.plan()) == []
            assert shape(other) == wanted
    assert lengths[0] == 0
    assert lengths == sorted(lengths)
    assert lengths[-1] < len(sent)
    assert len(zone.calls()) == before


def test_each_change_asks_first_for_as_long_as_it_may_take(zone):
    asked = []

    async def hold(within=None):
        asked.append(within)

    zone.apply()
    zone.memory.hold = hold
    zone.want(("mhz: 2400", "mhz: 2500"))
    zone.apply()
    # replace and retire: the step, and the call
    assert asked == [None, 190.0, None, 190.0]


def test_a_making_that_cloudstack_ends_after_the_walk_was_cut_is_not_sent_again(zone):
    """The walk is cut; what it asked for is there only when the next one has begun."""
    fault = Fault(kind=FaultKind.CUT, when=When.BEFORE, command="createServiceOffering")
    zone.server.faults.add(fault)
    with pytest.raises(TransientError):
        zone.apply()
    made = zone.again()
    with made:
        made.apply()
    late = next(each for each in made.state.offerings.values() if each.name == "bm.h200x8")
    wait = zone.clock.sleep

    async def until_it_is_there(duration):
        await wait(duration)
        zone.state.offerings[late.id] = late

    zone.clock.sleep = until_it_is_there
    zone.apply()
    zone.state.offerings[late.id] = late  # whether anybody waited for it or not
    names = sorted(each.name for each in zone.state.offerings.values())
    assert names == ["bm.general", "bm.h200x8"]
    assert steps(zone.plan()) == []


def test_a_lost_answer_of_a_making_is_looked_up_and_the_command_not_sent_again(zone):
    fault = Fault(kind=FaultKind.CUT, when=When.AFTER, command="createServiceOffering", times=2)
    zone.server.faults.add(fault)
    zone.apply()
    assert len(zone.server.calls.named("createServiceOffering")) == 2
    assert len(zone.state.offerings) == 2
