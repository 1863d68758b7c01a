"""Callers that come twice, too late, in the wrong order, or go away in the middle."""

import json
import os
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from cloudstack_ext.contract import Verb
from cloudstack_ext.lab.instances import instance_of
from cloudstack_ext.lab.payload import lab_payload
from cloudstack_ext.management_server.wire import wire
from tests.recorded_payloads import payload_of
from tests.service.entry.rig import ENTRY, HTTPS, SOCKET

pytestmark = pytest.mark.emulated
IMAGE = "s1 agent write_image"


def living(site):
    return site.rows("SELECT server, phase FROM allocation WHERE ended_at IS NULL ORDER BY server")


def deployments(site):
    return site.rows("SELECT status FROM operation WHERE kind = 'deploy'")


over_both_ways = pytest.mark.parametrize("up", [SOCKET, HTTPS], indirect=True)


@pytest.fixture
def up(site, request):
    site.by(getattr(request, "param", SOCKET))
    site.start()
    return site


@pytest.fixture
def callers():
    with ThreadPoolExecutor(64) as pool:
        yield pool


@over_both_ways
def test_an_instance_s_life_with_every_verb_twice_and_in_the_wrong_order(up):
    """delete before create, stop and start of nobody, create again, create after delete."""
    assert up.call("delete", "early").exit == 0
    for verb in ("prepare", "create", "start"):
        assert up.call(verb, "early").code == "INSTANCE_DELETED"
    assert up.call("stop", "nobody").exit == 0
    assert up.call("start", "nobody").code == "INSTANCE_UNKNOWN"
    assert up.call("reboot", "nobody").code == "INSTANCE_UNKNOWN"
    assert up.call("status", "nobody").power == "PowerUnknown"
    assert up.rack.log.acts() == []

    for _ in range(2):
        assert up.call("create", "one").exit == 0
    since = len(up.rack.log.lines)
    again = payload_36_of("one")
    assert up.send("create", again).exit == 0  # a restart sends create, without an image
    assert "s1 agent write_image" not in up.rack.log.lines[since:]
    assert up.rack.log.count("s1 agent write_image") == 1
    assert up.rack.log.count("s1 power on") == 2
    assert deployments(up) == [("done",)]

    for _ in range(2):
        assert up.call("delete", "one").exit == 0
    for verb in ("prepare", "create", "start"):
        assert up.call(verb, "one").code == "INSTANCE_DELETED"
    assert up.call("stop", "one").exit == 0
    up.until_state("s1", "AVAILABLE")
    assert up.rack.log.count("s1 agent erase") == 1
    assert up.call("status", "one").power == "PowerOff"


def payload_36_of(name):
    """As a real server sends for a VM that is started again: no image, the host's pool as ours."""
    body = json.loads(payload_of(36))
    mine = json.loads(lab_payload(Verb.CREATE, instance_of(name)))
    body["virtualmachineid"] = mine["virtualmachineid"]
    body["externaldetails"]["host"] = mine["externaldetails"]["host"]
    body["externaldetails"].get("virtualmachine", {}).pop("image", None)
    body["cloudstack.vm.details"]["nics"] = mine["cloudstack.vm.details"]["nics"]
    return wire(body)


def test_two_creates_at_once_are_one_deployment_whatever_the_tenant_wishes(up, callers):
    """What a tenant can set chooses no server, pool or controller."""
    body = json.loads(lab_payload(Verb.CREATE, instance_of("sly")))
    wishes = dict.fromkeys(("controller", "address", "host", "server"), "s2") | {"pool": "b"}
    details = body["cloudstack.vm.details"]
    body["externaldetails"]["virtualmachine"] |= wishes
    details["details"] |= wishes | {f"External:{key}": value for key, value in wishes.items()}
    details["vmData"] += [["metadata", key, value] for key, value in wishes.items()]
    both = [callers.submit(up.send, "create", wire(body)) for _ in range(2)]
    assert [each.result().text for each in both] == ["running on s1"] * 2
    assert living(up) == [("s1", "active")]
    assert up.rack.log.count(IMAGE) == 1
    assert up.rack.log.acts("s2") == []


@over_both_ways
def test_64_creates_at_once_for_two_servers(up, callers):
    answers = [callers.submit(up.call, "create", f"many-{n}") for n in range(64)]
    ended = [each.result() for each in answers]
    assert sorted(each.exit for each in ended) == [0, 0] + [1] * 62
    assert {each.code for each in ended if each.exit} == {"NO_CAPACITY"}
    assert living(up) == [("s1", "active"), ("s2", "active")]
    for name in ("s1", "s2"):
        assert up.rack.log.count(f"{name} agent write_image") == 1
        assert up.rack.log.count(f"{name} power on") == 2


@over_both_ways
def test_callers_that_are_killed_lose_nothing(up, callers):
    """The entry alone, then a whole management server that never comes back."""
    held = up.rack.log.hold(IMAGE)
    kill(begin(up, "create", "one"))
    entry = begin(up, "create", "one")
    held.wait()
    waiting = callers.submit(up.call, "create", "one")
    kill(entry)
    time.sleep(0.5)
    held.let_go()
    assert waiting.result().text == "running on s1"
    assert up.rack.log.count(IMAGE) == 1
    assert deployments(up) == [("done",)]

    held = up.rack.log.hold("s1 power off")
    entry = begin(up, "delete", "one")
    held.wait()
    kill(entry)
    held.let_go()
    up.until_state("s1", "AVAILABLE")
    assert up.rack.log.count("s1 agent verify done") == 1
    assert living(up) == []


def kill(entry):
    os.killpg(entry.pid, signal.SIGKILL)
    assert entry.wait(10) == -signal.SIGKILL


def begin(site, verb, instance):
    """The entry as a child of its own."""
    path = site.folder / f"{verb}-{instance}.json"
    path.write_bytes(lab_payload(Verb(verb), instance_of(instance)))
    return subprocess.Popen(
        [str(ENTRY), verb, str(path), "120"],
        env={"RACKWRIGHT_ENTRY_CONFIG": str(site.entry_config)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )


@pytest.mark.rack_long  # needs no rack; the same rules in virtual time are unit tests
def test_a_job_that_is_cancelled_ends_nothing_while_its_create_runs(site, callers):
    """stop during create: success at once; the grace of that stop is over long before the end."""
    site.configure(stop_grace_s=0.5)
    site.start()
    held = site.rack.log.hold(IMAGE)
    create = callers.submit(site.call, "create", "one")
    held.wait()
    stop = site.call("stop", "one")
    assert (stop.exit, stop.text) == (0, "not installed yet: nothing was touched")
    assert stop.seconds < 1
    time.sleep(1)
    held.let_go()
    assert create.result().exit == 0
    time.sleep(6)  # housekeeping looks every five seconds
    assert living(site) == [("s1", "active")]
    assert site.call("status", "one").power == "PowerOn"
    assert site.call("stop", "one").exit == 0
    assert site.rack.log.acts("s1")[-1] == "s1 port to quarantine"


@pytest.mark.rack_long  # needs no rack; the same rules in virtual time are unit tests
def test_a_stop_after_a_failed_create_gives_the_server_back_when_nobody_asks_again(site, callers):
    site.configure(stop_grace_s=0.5, create_answer_within_s=2)
    site.start()
    held = site.rack.log.hold(IMAGE)
    assert site.call("create", "one").code == "DEADLINE"
    assert site.call("stop", "one").exit == 0
    site.until_state("s1", "RELEASING", 20)
    held.let_go()
    site.until_state("s1", "AVAILABLE")
    assert living(site) == []
    assert site.rack.log.count("s1 agent verify done") == 1


def test_a_deadline_is_said_in_time_and_the_next_create_goes_on_with_it(site, callers):
    """Over a restart of the service between the two, and the stop that CloudStack sends."""
    site.configure(create_answer_within_s=2)
    site.start()
    held = site.rack.log.hold(IMAGE)
    late = site.call("create", "one")
    assert late.code == "DEADLINE"
    assert 1.5 < late.seconds < 4
    for wait in (1, 2):  # and before the management server kills it, whatever that gives
        late = site.call("create", "one", wait=wait)
        assert (late.code, late.seconds < wait) == ("DEADLINE", True)
    assert site.call("stop", "one").exit == 0
    site.stop()
    site.configure()
    site.start()
    create = callers.submit(site.call, "create", "one")
    time.sleep(0.5)
    held.let_go()
    assert create.result().text == "running on s1"
    assert site.rack.log.count(IMAGE) == 1
    assert site.rack.log.count("s1 power on") == 2
    assert deployments(site) == [("done",)]


def test_a_delete_on_a_running_deployment_ends_it_after_its_act_and_wipes(up, callers):
    held = up.rack.log.hold(IMAGE)
    create = callers.submit(up.call, "create", "one")
    held.wait()
    gone = up.call("delete", "one")
    assert gone.exit == 0
    assert gone.seconds < 11
    held.let_go()
    refused = create.result()
    assert refused.exit == 1
    assert refused.code in {"SUPERSEDED", "INSTANCE_DELETED", "INSTANCE_ENDED", "CANNOT_TELL"}
    up.until_state("s1", "AVAILABLE")
    assert up.rack.log.count("s1 agent write_seed") == 0
    assert up.rack.log.count("s1 agent verify done") == 1
    assert up.rows("SELECT kind, status FROM operation WHERE who LIKE 'lab:%' ORDER BY number") == [
        ("deploy", "superseded"),
        ("release", "done"),
    ]
