import asyncio
import json
import logging

import pytest

from cloudstack_ext.verbs import answer
from provisioner.errors import ErrorCode, OperatorError, TransientError
from provisioner.ports.controllers import PowerAct
from provisioner.ports.tenant_desk import Story
from provisioner.servers.allocation import InstanceKey, InstanceView, Phase
from provisioner.servers.model import Power
from provisioner.testing.clock import FakeClock
from provisioner.testing.machines import FakeMachines, FakePool
from provisioner.units import ImageName, InstanceId, PoolName, Seconds, ServerName
from tests.recorded_payloads import DETAILS, SITE, changed, key_of, payload_of

INSTALL_S = 600.0


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def machines(clock):
    free = [ServerName("uefi1"), ServerName("bios1")]
    images = {"ubuntu-24.04-cuda": ImageName("tiny")}
    return FakeMachines(clock, {PoolName("a"): FakePool(free=free, images=images)}, INSTALL_S)


@pytest.fixture
def ask(clock, machines):
    async def call(verb, payload, wait="1800", **named):
        payload = payload_of(payload) if isinstance(payload, int) else payload
        reply = await answer(
            verb, payload, wait, site=SITE, machines=machines, clock=clock, **named
        )
        assert len(reply.line) < 32 * 1024
        return reply.exit, json.loads(reply.line)

    return call


@pytest.fixture
def told(ask):
    return lambda *args, **named: asyncio.run(ask(*args, **named))


def test_the_life_of_an_instance(told, machines):
    code, prepared = told("prepare", 38)
    assert code == 0
    assert list(prepared) == ["nics"]
    assert prepared["nics"][0]["nicUuid"] == "0275e68f-5d12-48fd-9446-f0044120fa09"
    assert set(prepared["nics"][0]) == {"nicUuid", "mac"}
    assert told("status", 38)[1]["power_state"] == "PowerUnknown"
    assert told("create", 39) == (0, {"status": "success", "message": "running on bios1"})
    assert machines.vlans(key_of(39)) == (1302,)
    assert told("status", 39)[1] == {"status": "success", "power_state": "PowerOn"}
    assert told("stop", 39)[0] == 0
    assert told("status", 39)[1]["power_state"] == "PowerOff"
    assert told("start", 42)[0] == 0
    assert told("reboot", 42)[0] == 0
    assert told("delete", 42)[0] == 0
    assert told("status", 42)[1]["power_state"] == "PowerOff"


def test_create_needs_no_prepare_before_it(told, machines):
    assert told("create", 29)[0] == 0
    assert machines.calls == [("deploy", key_of(29))]


def test_create_for_an_installed_instance_installs_nothing_whoever_asks(told, machines):
    own = changed(39, "virtualmachineid", key_of(36).instance)
    assert told("create", own)[0] == 0
    assert told("stop", own)[0] == 0
    assert told("create", 36)[0] == 0  # this payload names no image
    assert len(machines.deployed) == 1
    assert told("status", 36)[1]["power_state"] == "PowerOn"


def test_create_of_something_new_without_an_image_is_refused(told):
    code, body = told("create", 36)
    assert (code, body["error"][:14]) == (1, "IMAGE_MISSING:")


@pytest.mark.parametrize("number", [5, 22, 24, 27, 28, 30, 34, 46])
def test_stop_of_what_is_not_there_succeeds_and_touches_nothing(told, number, machines):
    assert told("stop", number)[0] == 0
    assert machines.calls == [(f"power {PowerAct.OFF}", key_of(number))]


def test_stop_after_a_failed_create_keeps_the_server_for_the_next_one(told, machines):
    own = key_of(28).instance
    create = changed(39, "virtualmachineid", own)
    machines.failures.append(OperatorError(ErrorCode.AGENT_SILENT, "the server did not call in"))
    assert told("create", create)[1]["error"] == "AGENT_SILENT: the server did not call in"
    assert told("stop", 28)[0] == 0
    assert told("create", create)[0] == 0


@pytest.mark.parametrize("number", [23, 25, 45])
def test_delete_before_any_create_succeeds_and_is_for_ever(told, number):
    assert told("delete", number)[0] == 0
    assert told("delete", number)[0] == 0
    for verb in ("prepare", "create"):
        again = changed(39, "virtualmachineid", key_of(number).instance)
        code, body = told(verb, again)
        assert (code, body["error"].partition(":")[0]) == (1, "INSTANCE_DELETED")


def test_a_custom_action_named_delete_deletes_nothing(told, machines):
    code, body = told("delete", 56)
    assert (code, body["error"].partition(":")[0]) == (1, "CUSTOM_ACTION_REFUSED")
    assert machines.calls == []


@pytest.mark.parametrize("number", [37, 44, 48, 49, 50, 51, 52])
def test_java_class_names_reach_no_machine(told, machines, number):
    name = json.loads(payload_of(number))["action"]
    code, body = told(name, number, "5")
    assert (code, body["error"].partition(":")[0]) == (1, "VERB_UNKNOWN")
    assert machines.calls == []


def test_start_of_an_unknown_instance_is_refused(told):
    code, body = told("start", 42)
    assert (code, body["error"].partition(":")[0]) == (1, "INSTANCE_UNKNOWN")


def test_create_and_start_set_the_vlans_of_their_own_payload(told, machines):
    told("create", 39)
    told("start", changed(42, DETAILS, "nics", 0, "broadcastUri", "vlan://77"))
    assert machines.vlans(key_of(42)) == (77,)


def test_a_pool_that_nobody_named_is_no_pool(told):
    external = {"virtualmachine": {"pool": "a", "image": "ubuntu-24.04-cuda"}}
    code, body = told("create", changed(39, "externaldetails", external))
    assert (code, body["error"].partition(":")[0]) == (1, "POOL_MISSING")


def test_an_image_that_the_pool_lacks_is_refused_early_and_in_create(told):
    steps = ("externaldetails", "virtualmachine", "image", "debian-11")
    for verb, number in (("prepare", 38), ("create", 39)):
        code, body = told(verb, changed(number, *steps))
        assert (code, body["error"].partition(":")[0]) == (1, "IMAGE_UNKNOWN")


@pytest.mark.parametrize(
    ("wait", "within", "seconds"),
    [("1800", 1440.0, 1440.0), ("1800", 100.0, 100.0), ("100", 1440.0, 80.0)],
)
def test_create_answers_before_its_deadline(ask, clock, machines, wait, within, seconds):
    machines.install = 10_000.0

    async def call():
        began = clock.wall()
        code, body = await ask("create", 39, wait, create_within=Seconds(within))
        return code, body["error"].partition(":")[0], clock.wall() - began

    assert asyncio.run(call()) == (1, "DEADLINE", seconds)


def test_a_create_that_met_its_deadline_is_attached_to(told, machines):
    machines.install = 2000.0
    assert told("create", 39)[0] == 1
    assert told("create", 39)[0] == 0
    assert len(machines.deployed) == 1


def test_64_creates_at_once_for_two_servers(ask, machines):
    async def crowd():
        def own(number):
            return changed(39, "virtualmachineid", f"00000000-0000-4000-8000-{number:012d}")

        return await asyncio.gather(*(ask("create", own(number)) for number in range(64)))

    replies = asyncio.run(crowd())
    assert sorted(code for code, _ in replies) == [0, 0] + [1] * 62
    errors = {body["error"].partition(":")[0] for code, body in replies if code}
    assert errors == {"NO_CAPACITY"}
    assert machines.pools["a"].free == []


def test_two_creates_at_once_for_one_instance_install_once(ask, machines):
    async def both():
        return await asyncio.gather(ask("create", 39), ask("create", 39))

    assert [code for code, _ in asyncio.run(both())] == [0, 0]
    assert len(machines.deployed) == 1


def test_the_site_is_part_of_the_key(ask, machines, clock):
    asyncio.run(ask("create", 39))
    other = answer("start", payload_of(42), "1800", site="other", machines=machines, clock=clock)
    assert "INSTANCE_UNKNOWN" in asyncio.run(other).line


class Views:
    """Machines that remember one view."""

    def __init__(self, view):
        self.view = view

    async def observe(self, _):
        if isinstance(self.view, Exception):
            raise self.view
        return self.view


def test_status_raises_the_alarm_where_a_stopped_server_runs(clock, caplog):
    view = InstanceView(
        phase=Phase.ACTIVE, wanted=Power.OFF, on_confirmed=True, fresh=True, known_to_caller=True
    )
    with caplog.at_level(logging.WARNING):
        call = answer("status", payload_of(31), "9", site=SITE, machines=Views(view), clock=clock)
        assert "PowerUnknown" in asyncio.run(call).line
    assert "seen on" in caplog.records[0].getMessage()


def test_a_busy_database_makes_status_unknown_and_no_failure(clock):
    busy = TransientError(ErrorCode.DATABASE_BUSY, "the database is busy")
    call = answer("status", payload_of(31), "1800", site=SITE, machines=Views(busy), clock=clock)
    reply = asyncio.run(call)
    assert (reply.exit, json.loads(reply.line)["power_state"]) == (0, "PowerUnknown")


def test_delete_is_given_ten_seconds(clock):
    class Slow:
        async def release(self, key, who, *, until, protection):
            assert key == InstanceKey(site=SITE, instance=InstanceId(key_of(25).instance))
            assert who == "lab: alice (User)"
            assert until == clock.wall() + 10.0
            raise TransientError(ErrorCode.DEADLINE, "later")

    call = answer("delete", payload_of(25), "1800", site=SITE, machines=Slow(), clock=clock)
    assert asyncio.run(call).exit == 1


def test_what_was_asked_for_and_how_it_ended_is_noted(told):
    noted = []

    async def note(request, outcome):
        noted.append((request.verb, request.instance.key, outcome))

    told("prepare", 38, note=note)
    told("status", 38, note=note)
    told("start", 38, note=note)
    told("create", b"{", note=note)  # whose instance it was is not known: it stands in the log
    assert noted == [
        ("prepare", key_of(38), "ok"),
        ("start", key_of(38), "INSTANCE_UNKNOWN"),
    ]


class Desk:
    """Somebody to ask."""

    async def story(self, key):
        return Story(view=InstanceView(phase=None), now=0.0)


def test_an_action_asks_the_desk_and_no_machine_and_is_noted(told, machines):
    noted = []

    async def note(request, outcome):
        noted.append((request.act, request.instance.who, outcome))

    why = changed(7, "action", "why")
    code, body = told("delete", why, desk=Desk(), note=note)
    assert (code, body["printmessage"], body["message"][0]["item"]) == (0, "true", "state")
    assert told("x", changed(7, "action", "reseed"), desk=Desk(), note=note)[0] == 1
    assert told("why", why, note=note)[0] == 1  # these machines have no desk
    assert machines.calls == []
    assert noted == [
        ("action why", "lab: alice (User)", "ok"),
        ("action reseed", "lab: alice (User)", "CUSTOM_ACTION_REFUSED"),
        ("action why", "lab: alice (User)", "CUSTOM_ACTION_REFUSED"),
    ]


@pytest.mark.parametrize(("wait", "seconds"), [("20", 6.0), ("5", 4.0)])
def test_an_action_is_answered_within_its_time(clock, wait, seconds):
    class Slow:
        async def power_cycle(self, request, *, until):
            assert until == clock.monotonic() + seconds
            raise TransientError(ErrorCode.DEADLINE, "later")

    cycle = json.loads(changed(8, "parameters", {"confirm": "i-7-3-VM"}))
    call = answer(
        "x", json.dumps(cycle).encode(), wait, site=SITE, machines=None, clock=clock, desk=Slow()
    )
    assert "DEADLINE" in asyncio.run(call).line


def test_an_action_s_answer_does_not_wait_for_its_line_in_the_audit(ask):
    noted, room = [], asyncio.Event()

    async def note(request, outcome):
        await room.wait()
        noted.append(request.act)

    async def both():
        async with asyncio.timeout(5.0):
            code, _ = await ask("why", changed(7, "action", "why"), desk=Desk(), note=note)
        room.set()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return code

    assert asyncio.run(both()) == 0
    assert noted == ["action why"]
