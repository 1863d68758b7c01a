import threading

import pytest

from provisioner.agent.calls import MOST_BODY_BYTES, RefusedError
from provisioner.agent.loop import AgentLoop, parse_order
from provisioner.agent.order import OrderFailedError
from provisioner.hardware.inventory import Cpu, Firmware, Inventory, System
from tests.unit.agent.conftest import Agent

pytestmark = pytest.mark.emulated

FACTS = Inventory(
    system=System(uuid="u", serial="s", manufacturer=None, product=None),
    firmware=Firmware(mode="bios"),
    cpu=Cpu(vendor=None, model=None, sockets=1, threads=1),
    memory_bytes=1,
    disks=(),
    nics=(),
)


class Machine:
    """Orders that remember what was asked of them."""

    def __init__(self):
        self.done = []
        self.gone_off = 0
        self.orders = {
            "note": self.note,
            "fail": self.fail,
            "crash": self.crash,
            "huge": self.huge,
            "power_off": lambda _parameters, _link: {},
        }

    def note(self, parameters, _link):
        self.done.append(parameters)
        return {"noted": len(self.done)}

    def fail(self, _parameters, _link):
        raise OrderFailedError("DISK_FAILED", "/dev/sda: read at byte 0: EIO")

    def crash(self, _parameters, _link):
        raise ZeroDivisionError("in the order's own code")

    def huge(self, _parameters, _link):
        return {"log": "x" * MOST_BODY_BYTES}

    def go_off(self):
        self.gone_off += 1


@pytest.fixture
def machine():
    return Machine()


@pytest.fixture
def loop(agent, machine):
    made = AgentLoop(
        agent.calls,
        agent.reports,
        agent.link,
        orders=machine.orders,
        last_acts={"power_off": machine.go_off},
    )
    made.hello(FACTS, "boot-1")
    return made


def order(number, kind="note", epoch=3, **parameters):
    return {"order": number, "epoch": epoch, "kind": kind, "parameters": parameters}


def test_hello_carries_facts_and_boot(service, loop):
    assert service.hellos[0]["agent"] == {"version": "1", "boot_id": "boot-1"}
    assert Inventory.from_json(service.hellos[0]["facts"]) == FACTS


def test_an_order_is_done_and_answered(service, loop, machine):
    service.orders = [order(1, what="x")]
    loop.turn()
    assert machine.done == [{"what": "x"}]
    assert service.results == [
        {"order": 1, "epoch": 3, "ok": True, "error": None, "result": {"noted": 1}}
    ]


def test_without_an_order_nothing_is_done(service, loop):
    loop.turn()
    assert service.results == []


def test_an_order_of_another_epoch_is_refused(service, loop, machine):
    service.orders = [order(1, epoch=2)]
    loop.turn()
    assert machine.done == []
    assert service.results[0]["error"]["code"] == "EPOCH_DIFFERS"


def test_an_unknown_order_is_refused(service, loop):
    service.orders = [order(1, kind="rm -rf /")]
    loop.turn()
    assert service.results[0]["error"]["code"] == "ORDER_UNKNOWN"


@pytest.mark.parametrize(
    ("kind", "code"),
    [("fail", "DISK_FAILED"), ("crash", "AGENT_FAILED"), ("huge", "AGENT_FAILED")],
)
def test_an_order_that_fails_is_answered_and_the_next_one_is_done(
    service, loop, machine, kind, code
):
    service.orders = [order(1, kind=kind), order(2)]
    loop.turn()
    loop.turn()
    assert [each["ok"] for each in service.results] == [False, True]
    assert service.results[0]["error"]["code"] == code
    assert machine.done == [{}]


def test_an_order_that_comes_again_is_answered_again_but_not_done_again(service, loop, machine):
    service.orders = [order(1)]
    loop.turn()
    loop._finished = 0  # as a service restored from an older moment would ask
    loop.turn()
    assert len(machine.done) == 1
    assert service.results[0] == service.results[1]


def test_lost_connections_lose_nothing(service, loop, machine):
    service.orders = [order(1), order(2)]
    for _ in range(2):
        service.lose = 3
        loop.turn()
    assert len(machine.done) == 2
    assert [each["order"] for each in service.results] == [1, 2]


def test_a_result_whose_acknowledgement_was_lost_is_posted_again(service, agent, machine):
    loop = AgentLoop(agent.calls, agent.reports, agent.link, orders=machine.orders, last_acts={})
    loop.hello(FACTS, "boot-1")
    service.orders = [order(1, kind="stumble")]

    def stumble(_parameters, _link):
        service.lose = 2
        return {}

    machine.orders["stumble"] = stumble
    loop.turn()
    assert service.results[-1]["order"] == 1
    assert service.count("/result") >= 2


def test_a_restarted_service_is_found_again(service, loop, machine):
    service.orders = [order(1)]
    loop.turn()
    service.stop()
    service.orders = [order(1), order(2)]
    back = threading.Timer(0.15, service.start)
    back.start()
    loop.turn()
    back.join()
    assert len(machine.done) == 2
    assert service.results[-1]["order"] == 2


@pytest.mark.parametrize("status", [500, 503])
def test_a_service_in_trouble_is_asked_again(service, loop, machine, status):
    service.orders = [order(1)]
    service.statuses = [status, status]
    loop.turn()
    assert len(machine.done) == 1


@pytest.mark.parametrize("status", [200, 404, 409])
def test_nonsense_for_an_order_is_no_order(service, loop, machine, status):
    service.statuses = [status]
    loop.turn()
    assert machine.done == []
    assert service.results == []


def test_a_short_refusal_is_outlived(service, loop, machine):
    service.orders = [order(1)]
    service.statuses = [403, 401]
    loop.turn()
    assert len(machine.done) == 1


def test_a_token_that_stays_refused_ends_the_agent(service, authorities, machine):
    stranger = Agent(service.port, authorities / "site.ca.pem", token="another")
    loop = AgentLoop(
        stranger.calls, stranger.reports, stranger.link, orders=machine.orders, last_acts={}
    )
    with pytest.raises(RefusedError):
        loop.run(FACTS, "boot-1")
    assert service.hellos == []


def test_an_authority_of_another_site_is_never_spoken_to(service, authorities):
    lost = Agent(service.port, authorities / "other.ca.pem")
    with pytest.raises(OSError, match="CERTIFICATE_VERIFY_FAILED"):
        lost.calls.once("GET", "/agent/v1/order?after=0")
    assert service.seen == []


def test_the_machine_goes_off_only_when_the_service_has_the_result(service, loop, machine):
    service.orders = [order(1, kind="power_off")]
    seen = []
    machine.go_off = lambda: seen.append(list(service.results))
    loop._last_acts = {"power_off": machine.go_off}
    loop.turn()
    assert [each["order"] for each in seen[0]] == [1]


def test_an_order_that_the_service_has_closed_switches_nothing_off(service, loop, machine):
    service.orders = [order(1, kind="power_off")]
    service.status_of["result"] = 409
    loop.turn()
    assert machine.gone_off == 0


def test_progress_goes_out_at_most_once_a_round_and_the_last_one_always(service, loop, machine):
    def work(_parameters, link):
        for done in range(1000):
            link.progress(done, 999, disk="/dev/sda")
        return {}

    machine.orders["work"] = work
    service.orders = [order(1, kind="work")]
    loop.turn()
    assert 1 <= len(service.progress) <= 3
    assert service.progress[-1]["done_bytes"] == 999
    assert service.progress[-1]["order"] == 1


def test_an_order_stops_when_the_service_has_closed_it(service, loop, machine, agent):
    service.status_of["progress"] = 409

    def work(_parameters, link):
        for done in range(100):
            link.progress(done, 100)
            agent.reports.send(most=1)
        return {}

    machine.orders["work"] = work
    service.orders = [order(1, kind="work")]
    loop.turn()
    assert service.results[0]["error"]["code"] == "EPOCH_DIFFERS"
    assert len(service.progress) == 1


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        {},
        {"order": 0, "epoch": 1, "kind": "k", "parameters": {}},
        {"order": True, "epoch": 1, "kind": "k", "parameters": {}},
        {"order": "1", "epoch": 1, "kind": "k", "parameters": {}},
        {"order": 1, "epoch": 1, "kind": 7, "parameters": {}},
        {"order": 1, "epoch": 1, "kind": "k", "parameters": []},
    ],
)
def test_what_is_no_order_is_none(body):
    assert parse_order(body) is None
