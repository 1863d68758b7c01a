"""What CloudStack says decides a first installation, and never keeps a tenant's system off."""

from dataclasses import replace

import pytest

from cloudstack_ext.certify import Certifier
from provisioner.errors import ErrorCode, RackwrightError, TransientError
from provisioner.ports.controllers import PowerAct
from provisioner.servers.allocation import Protection
from provisioner.units import Seconds
from tests.unit.cloudstack_ext.test_bought import ROWS, TOLD
from tests.unit.operations.conftest import (  # noqa: F401 fixtures
    active,
    active_template,
    free_template,
    world,
)
from tests.unit.operations.world import REQUEST

IMAGE = replace(ROWS[3], facts={"image": REQUEST.image})
ROWS_HERE = (*ROWS[:3], IMAGE)


class Cloud:
    """Truth as told; silent for so many questions first."""

    def __init__(self, told=TOLD, silent=0, user_data=None):
        self.told, self.silent, self.data = told, silent, user_data
        self.asked = []

    async def of(self, instance):
        self.asked.append(instance)
        if self.silent:
            self.silent -= 1
            raise TransientError(ErrorCode.TRUTH_SILENT, "no answer")
        return self.told

    async def user_data(self, instance):
        self.asked.append(f"user data of {instance}")
        return self.data


class HangingCloud(Cloud):
    def __init__(self, clock):
        super().__init__()
        self.clock = clock

    async def of(self, instance):
        await self.clock.sleep(Seconds(1e6))


class Asking:
    """Creates and starts with a certifier beside them."""

    def __init__(self, world, cloud):  # noqa: F811
        self.world, self.cloud = world, cloud

        async def rows():
            return ROWS_HERE

        self.certifier = Certifier(
            truth=cloud, registered=rows, clock=world.clock, wait_s=300.0, memory_s=600.0
        )

    def create(self, request=REQUEST, within=3000.0):
        until = self.world.within(within)
        deploy = self.world.bare_metal.deploy(request, until=until, certify=self._certify(until))
        return self.world.live(deploy)

    def start(self, request=REQUEST):
        until = self.world.within(1000.0)
        power = self.world.bare_metal.power(
            request, PowerAct.ON, until=until, certify=self._certify(until)
        )
        return self.world.live(power)

    def _certify(self, until):
        async def certify(request, size):
            return await self.certifier.certified(request, size, until)

        return certify


def refused(act, *args, **more):
    with pytest.raises(RackwrightError) as error:
        act(*args, **more)
    return error.value.code


def test_a_first_create_remembers_owner_and_size_and_takes_the_registered_image(world):  # noqa: F811
    asking = Asking(world, Cloud(user_data=b"#cloud-config"))
    asking.create(replace(REQUEST, image=None))
    allocation = world.allocation()
    assert (allocation.owner, allocation.size) == ("ROOT/acme/alice", "h200")
    assert allocation.image == REQUEST.image
    assert "template ubuntu (t-1)" in allocation.truth


def test_user_data_is_asked_for_only_where_the_payload_has_none(world):  # noqa: F811
    seen = []
    seed = world.bare_metal.make_seed

    async def make_seed(request, server, sector):
        seen.append(request.user_data)
        return await seed(request, server, sector)

    world.bare_metal.make_seed = make_seed
    cloud = Cloud(user_data=b"from the api")
    Asking(world, cloud).create()
    assert seen == [b"from the api"]
    Asking(world, cloud).create(
        replace(
            REQUEST, key=replace(REQUEST.key, instance="i-2"), name="i-2-8-VM", user_data=b"own"
        )
    )
    assert seen == [b"from the api", b"own"]


def test_a_silent_cloud_is_asked_again_ever_more_seldom(world):  # noqa: F811
    cloud = Cloud(silent=6)
    began = world.clock.monotonic()
    Asking(world, cloud).create()
    assert len(cloud.asked) == 7 + 1
    assert world.clock.monotonic() - began >= 1 + 2 + 4 + 8 + 15 + 15
    assert world.allocation().size == "h200"


def test_one_that_stays_silent_fails_the_create_and_nothing_is_remembered_of_it(world):  # noqa: F811
    cloud = Cloud(silent=1000)
    asking = Asking(world, cloud)
    began = world.clock.monotonic()
    assert refused(asking.create) is ErrorCode.TRUTH_SILENT
    assert 280 <= world.clock.monotonic() - began <= 300
    assert world.state() == "AVAILABLE"
    cloud.silent = 0
    assert asking.create().text == "running on s1"


def test_one_that_hangs_is_no_answer_either(world):  # noqa: F811
    asking = Asking(world, HangingCloud(world.clock))
    assert refused(asking.create, within=100.0) is ErrorCode.TRUTH_SILENT


def test_a_refusal_by_an_answer_is_given_again_without_asking(world):  # noqa: F811
    cloud = Cloud(replace(TOLD, template="x"))
    asking = Asking(world, cloud)
    for _ in range(3):
        assert refused(asking.create) is ErrorCode.TEMPLATE_FOREIGN
    assert len(cloud.asked) == 1
    assert world.state() == "AVAILABLE"
    world.pass_time(601.0)
    cloud.told = TOLD
    assert asking.create().text == "running on s1"


def test_a_start_without_an_answer_goes_on_and_says_so(world):  # noqa: F811
    cloud = Cloud()
    asking = Asking(world, cloud)
    asking.create()
    world.power("off")
    cloud.silent = 1000
    began = world.clock.monotonic()
    assert asking.start(replace(REQUEST, owner="")).text == "started"
    assert world.clock.monotonic() - began >= 1 + 2 + 4
    assert world.allocation().owner == "ROOT/acme/alice"
    assert world.allocation().truth == "not asked: no answer"
    cloud.silent = 0
    assert asking.start().text == "started"
    assert "template ubuntu (t-1)" in world.allocation().truth


def test_a_cloud_that_hangs_holds_a_start_up_for_ten_seconds(world):  # noqa: F811
    Asking(world, Cloud()).create()
    certifier, began = Asking(world, HangingCloud(world.clock)).certifier, world.clock.monotonic()
    until = world.within(1000.0)
    certified = world.do(certifier.certified(REQUEST, "h200", until))
    assert 9.5 <= world.clock.monotonic() - began <= 10.5
    assert certified.truth == "not asked: CloudStack was asked and did not answer in time"


def test_a_start_with_another_offering_is_refused_and_switches_nothing_on(world):  # noqa: F811
    cloud = Cloud()
    asking = Asking(world, cloud)
    asking.create()
    world.power("off")
    cloud.told = replace(TOLD, offering="o-2", offering_name="l40s")
    assert refused(asking.start) is ErrorCode.OFFERING_DIFFERS
    assert refused(asking.create) is ErrorCode.OFFERING_DIFFERS
    assert world.power_of() == "off"
    cloud.told = replace(TOLD, offering="o-0", owner="ROOT/bob")
    assert asking.start().text == "started"
    assert world.allocation().owner == "ROOT/bob"


def test_a_create_that_attaches_asks_nobody(world):  # noqa: F811
    cloud = Cloud()
    asking = Asking(world, cloud)
    assert refused(asking.create, within=5.0) is ErrorCode.DEADLINE
    asked = len(cloud.asked)
    asking.create()
    assert len(cloud.asked) == asked


@pytest.mark.parametrize(
    ("is_protected", "silent", "found"),
    [
        (True, 0, Protection.PROTECTED),
        (False, 0, Protection.UNPROTECTED),
        (None, 0, Protection.UNKNOWN),
        (False, 1, Protection.UNKNOWN),
    ],
)
def test_protection_that_is_not_denied_is_kept(world, is_protected, silent, found):  # noqa: F811
    cloud = Cloud(replace(TOLD, is_protected=is_protected), silent=silent)
    certifier = Asking(world, cloud).certifier
    assert world.do(certifier.protection(REQUEST.key.instance)) is found


@pytest.mark.parametrize(
    ("listed", "found"),
    [
        (True, Protection.PROTECTED),
        (False, Protection.UNPROTECTED),
        (None, Protection.UNKNOWN),
    ],
)
def test_a_silent_cloud_s_last_list_says_it(world, listed, found):  # noqa: F811
    certifier = Asking(world, HangingCloud(world.clock)).certifier
    certifier.listed = {REQUEST.key.instance: listed}.get
    assert world.do(certifier.protection(REQUEST.key.instance)) is found


@pytest.mark.parametrize("is_protected", [True, None])
def test_an_answer_counts_more_than_the_last_list(world, is_protected):  # noqa: F811
    certifier = Asking(world, Cloud(replace(TOLD, is_protected=is_protected))).certifier
    certifier.listed = lambda _instance: False
    assert world.do(certifier.protection(REQUEST.key.instance)) is not Protection.UNPROTECTED


def test_a_cloud_that_hangs_holds_a_delete_up_for_two_seconds(world):  # noqa: F811
    certifier = Asking(world, HangingCloud(world.clock)).certifier
    began = world.clock.monotonic()
    assert world.do(certifier.protection(REQUEST.key.instance)) is Protection.UNKNOWN
    assert world.clock.monotonic() - began <= 2.5


def test_a_name_is_told_where_there_is_an_answer_in_time(active):  # noqa: F811
    named = replace(TOLD, names=frozenset({"trainer"}))

    def names(cloud):
        certifier = Asking(active, cloud).certifier
        return active.do(certifier.names(REQUEST.key.instance))

    assert names(Cloud(named)) == {"trainer"}
    assert names(Cloud(named, silent=1)) == frozenset()
    began = active.clock.monotonic()
    assert names(HangingCloud(active.clock)) == frozenset()
    assert active.clock.monotonic() - began <= 2.0


# --- written anew -----------------------------------------------------------------------------
DEBIAN = replace(ROWS[3], number=30, name="debian", outside_id="t-9", facts={"image": "debian-12"})


class Anew:
    """One question of an action."""

    def __init__(self, world, cloud, rows=(*ROWS_HERE, DEBIAN)):  # noqa: F811
        self.world = world

        async def registered():
            return rows

        self.certifier = Certifier(
            truth=cloud, registered=registered, clock=world.clock, wait_s=300.0, memory_s=600.0
        )

    def __call__(self, image=None, size="h200", request=REQUEST, within=6.0):
        until = self.world.within(within)
        return self.world.do(self.certifier.anew(request, size, image, until))


class Owner(Cloud):
    """Whose templates are these."""

    def __init__(self, *templates, **more):
        super().__init__(**more)
        self.templates = frozenset(templates)

    async def templates_of(self, told):
        self.asked.append("templates")
        return self.templates


def test_it_says_whose_it_is_and_what_its_user_data_is(world):  # noqa: F811
    found = Anew(world, Owner(user_data=b"new"))()
    assert (found.owner, found.user_data, found.image) == ("ROOT/acme/alice", b"new", None)
    assert "template ubuntu (t-1)" in found.truth


@pytest.mark.parametrize("asked", ["debian", "t-9"])
def test_another_image_is_a_registered_template_that_its_owner_may_use(world, asked):  # noqa: F811
    assert Anew(world, Owner("t-1", "t-9"))(asked).image == "debian-12"


@pytest.mark.parametrize(
    ("asked", "rows"),
    [
        ("debian", (*ROWS_HERE, replace(DEBIAN, retired=True))),
        ("debian", ROWS_HERE),
        ("debian-12", (*ROWS_HERE, DEBIAN)),
        ("large", (*ROWS_HERE, DEBIAN)),
    ],
)
def test_what_is_no_template_here_is_refused(world, asked, rows):  # noqa: F811
    assert refused(Anew(world, Owner("t-1", "t-9"), rows), asked) is ErrorCode.TEMPLATE_FOREIGN


def test_what_is_not_for_its_owner_looks_like_what_is_not_there(world):  # noqa: F811
    with pytest.raises(RackwrightError) as hidden:
        Anew(world, Owner("t-1"))("debian")
    with pytest.raises(RackwrightError) as absent:
        Anew(world, Owner("t-1"), ROWS_HERE)("debian")
    assert str(hidden.value) == str(absent.value)


def test_while_it_is_silent_nothing_is_asked_twice(world):  # noqa: F811
    cloud = Owner(silent=1)
    assert refused(Anew(world, cloud)) is ErrorCode.TRUTH_SILENT
    assert len(cloud.asked) == 1


def test_another_offering_or_pool_or_a_foreign_template_is_refused(world):  # noqa: F811
    asking = Anew(world, Owner())
    assert refused(asking, size="small") is ErrorCode.OFFERING_DIFFERS
    other = replace(REQUEST, pool="b")
    assert refused(asking, request=other) is ErrorCode.POOL_DIFFERS
    foreign = Anew(world, Owner(told=replace(TOLD, template="t-77")))
    assert refused(foreign) is ErrorCode.TEMPLATE_FOREIGN
