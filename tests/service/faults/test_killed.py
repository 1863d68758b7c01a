"""The service killed at moments that the outside shows, in the middle of what it was doing.

Each moment is an act that the outside has done and the service was not told of: the answer is
held, the whole process group dies by SIGKILL, and another one is started.
"""

import itertools
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from cloudstack_ext.lab.instances import instance_of

pytestmark = pytest.mark.emulated
VLAN = instance_of("one").vlan
BOOT = [
    "port to provisioning",
    "leave nonce",
    "boot network",
    "offered",
    "power on",
    "is on",
    "loads the ramdisk",
    "agent read_nonce",
    "agent read_nonce done",
    "remove nonce",
]
DEPLOY = [
    *BOOT,
    "agent write_image",
    "agent write_image done",
    "agent write_seed",
    "agent write_seed done",
    "agent set_boot_order",
    "agent set_boot_order done",
    "withdrawn",
    "agent power_off",
    "agent power_off done",
    "is off",
    f"port to tenant {VLAN}",
    "boot disk",
    "power on",
    "is on",
]
RELEASE = [
    "power off",
    "is off",
    "port to quarantine",
    *BOOT,
    "agent mark",
    "agent mark done",
    "agent erase",
    "agent erase done",
    "agent verify",
    "agent verify done",
    "withdrawn",
    "agent power_off",
    "agent power_off done",
    "is off",
    "port to quarantine",
]
SIX_OF_DEPLOY = [
    "port to provisioning",
    "boot network",
    "power on",
    "agent write_image",
    f"port to tenant {VLAN}",
    "power on",
]
SIX_OF_RELEASE = [
    "power off",
    "port to quarantine",
    "power on",
    "agent erase",
    "agent verify done",
    "port to quarantine",
]
AGAIN_AT_A_START = [f"port to tenant {VLAN}", "boot disk"]
TOGETHER = {"leave nonce", "boot network", "offered"}
"""Of one step: killed in it, the whole step is done again."""


def done(site, since, names):
    """What was done to s1, in order, each act once, without what is only a repetition."""
    acts = [line.removeprefix("s1 ") for line in site.rack.log.acts("s1 ", since=since)]
    return [act for act in acts if act in set(names)]


def in_order(acts, wanted):
    """Whether `wanted` is what `acts` shows, but for repetitions of what stood in it before."""
    left, seen = list(wanted), set()
    for act in acts:
        if left and act == left[0]:
            seen.add(left.pop(0))
        elif act not in seen:
            return False
    return not left


def kill_at(site, moments):
    """Start, wait for the moment, kill; again for each; then start for good."""
    for moment in moments:
        held = site.rack.log.hold(f"s1 {moment}")
        if site.process is None or site.process.poll() is not None:
            site.start()
        held.wait()
        site.kill()
        held.let_go()
    site.start()


def assert_none_twice(acts, wanted, moments):
    """Only what was going on at a kill may have been done again."""
    killed = Counter(moments)
    if killed.keys() & TOGETHER:
        killed += dict.fromkeys(TOGETHER, 1)
    for act, times in Counter(acts).items():
        assert times <= Counter(wanted)[act] + killed[act], (act, acts)


def deploy(site, moments):
    with ThreadPoolExecutor(1) as caller:
        create = caller.submit(site.call, "create", "one", wait=600)
        kill_at(site, moments)
        answer = create.result()
    # a create that is sent again when all is done is a start, which finds the server on
    assert answer.exit == 0, site.story(answer.text)
    started = AGAIN_AT_A_START if answer.text == "started" else []
    acts = done(site, 0, DEPLOY)
    assert in_order(acts, DEPLOY), acts
    assert_none_twice(acts, DEPLOY, [*moments, *started])
    # whatever was killed: one start from the network, one from the disk, one image
    assert site.rack.log.count("s1 is on") == 2
    assert site.rack.log.count("s1 agent write_image") == 1
    assert [str(each) for each in site.rack["s1"].board.booted_from] == ["network", "disk"]
    assert site.rows("SELECT kind, status FROM operation WHERE kind = 'deploy'") == [
        ("deploy", "done")
    ]
    assert site.rows("SELECT server, phase FROM allocation") == [("s1", "active")]
    assert site.rack.log.acts("s2") == []
    assert site.call("status", "one").power == "PowerOn"


def release(site, moments):
    since = len(site.rack.log.lines)
    with ThreadPoolExecutor(1) as caller:
        delete = caller.submit(site.call, "delete", "one", wait=600)
        kill_at(site, moments)
        answer = delete.result()
    assert answer.exit == 0, answer.text
    site.until_state("s1", "AVAILABLE")
    acts = done(site, since, RELEASE)
    assert in_order(acts, RELEASE), acts
    assert_none_twice(acts, RELEASE, moments)
    for act in ("is on", "agent mark", "agent erase", "agent verify"):
        assert done(site, since, RELEASE).count(act) == 1
    assert site.rows("SELECT dirty FROM server WHERE name = 's1'") == [(0,)]
    # one of the first wipe, one of this
    assert site.rows("SELECT count(*) FROM evidence WHERE server = 's1'") == [(2,)]
    assert site.rows("SELECT status FROM operation WHERE kind = 'release'") == [("done",)]
    chain = site.command("evidence", "show")
    assert chain.returncode == 0, chain.stderr


def test_killed_at_six_steps_of_a_deployment_and_six_of_its_release(site):
    deploy(site, SIX_OF_DEPLOY)
    release(site, SIX_OF_RELEASE)
    assert site.call("create", "two").exit == 0  # and it is as good as new


@pytest.mark.rack_long  # two minutes; needs no rack
@pytest.mark.parametrize("half", [0, 1])
def test_killed_at_every_act_that_the_outside_shows(site, half):
    deploy(site, DEPLOY[half::2])
    release(site, RELEASE[half::2])


@pytest.mark.rack_long  # two minutes; needs no rack
def test_killed_between_any_two_acts_by_the_clock(site):
    """Every 0.7 s of service, wherever it is then."""
    with ThreadPoolExecutor(1) as caller:
        create = caller.submit(site.call, "create", "one", wait=900)
        for _ in itertools.repeat(None, 60):
            site.start()
            try:
                create.result(0.7)
            except TimeoutError:
                site.kill()
            else:
                break
        assert create.result().exit == 0
    assert site.rack.log.count("s1 agent write_image done") == 1
    assert site.rows("SELECT kind, status FROM operation WHERE kind = 'deploy'") == [
        ("deploy", "done")
    ]
