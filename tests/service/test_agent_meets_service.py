"""The agent's own loop and links against the service's agent API, over TLS."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from provisioner.adapters.clock import SystemClock
from provisioner.agent.calls import RefusedError
from provisioner.agent.loop import AgentLoop
from provisioner.boot.token import digest
from provisioner.hardware.inventory import Cpu, Firmware, Inventory, System
from provisioner.secret import Secret
from provisioner.servers.operation import AgentOrder, Boot
from provisioner.service.agent_api import AgentApi
from provisioner.service.server import on_tcp, serve, server_tls
from provisioner.testing.boots import MemoryBoots
from provisioner.units import Epoch, OperationId, ServerName, WallSeconds
from tests.unit.agent.conftest import Agent
from tests.unit.agent.scripted_service import HERE, TOKEN, make_authority

pytestmark = pytest.mark.emulated
OPERATION = OperationId("11111111-1111-4111-8111-111111111111")
FACTS = Inventory(
    system=System(uuid="u", serial=None, manufacturer=None, product=None),
    firmware=Firmware(mode="uefi"),
    cpu=Cpu(vendor=None, model=None, sockets=1, threads=1),
    memory_bytes=1,
    disks=(),
    nics=(),
)


@dataclass
class Site:
    store: MemoryBoots
    port: int
    agent: Agent
    stop: Callable[[], None] = field(default=lambda: None)

    def give(self, kind: str, **parameters: object) -> AgentOrder:
        return self.store.put_order(
            AgentOrder(
                operation=OPERATION,
                step=kind,
                number=0,
                epoch=Epoch(3),
                kind=kind,
                parameters=parameters,
            )
        )

    def loop(self, **orders: object) -> AgentLoop:
        made = AgentLoop(
            self.agent.calls, self.agent.reports, self.agent.link, orders=orders, last_acts={}
        )
        made.hello(FACTS, "boot-1")
        return made


@pytest.fixture
def site(tmp_path) -> Iterator[Site]:
    authority = make_authority(tmp_path, "site")
    with socket.create_server((HERE, 0)) as found:
        port = found.getsockname()[1]
    store, stopping, up = MemoryBoots(), asyncio.Event(), threading.Event()
    store.open_boot(
        Boot(
            operation=OPERATION,
            server=ServerName("s1"),
            epoch=Epoch(3),
            mac="52:54:00:00:00:01",
            token_sha256=digest(Secret(TOKEN)),
            opened_at=WallSeconds(1.0),
        )
    )
    api = AgentApi(
        boots=store,
        orders=store,
        seeds=store,
        operations=store,
        bell=store,
        journal=store,
        clock=SystemClock(),
        stopping=stopping,
    )
    tls = server_tls(tmp_path / "site.pem", tmp_path / "site.pem")
    listener = on_tcp("agents", api.app(), HERE, port, tls)
    loop = asyncio.new_event_loop()

    def run() -> None:
        with contextlib.closing(loop):
            loop.run_until_complete(serve([listener], stopping=stopping, started=up.set))

    thread = threading.Thread(target=run)
    thread.start()
    assert up.wait(10)
    yield Site(store, port, Agent(port, authority))
    loop.call_soon_threadsafe(stopping.set)
    thread.join(20)
    assert not thread.is_alive()


def test_an_agent_calls_in_works_and_answers(site):
    def work(parameters, link):
        link.progress(5, 10, disk="/dev/sda", note="half")
        link.journal("at work")
        return {"got": parameters["what"]}

    loop = site.loop(note=work)
    assert site.store.order(OPERATION, "hello").result["facts"] == FACTS.to_json()
    site.give("note", what="x")
    loop.turn()
    site.agent.reports.send(most=5)
    assert site.store.order(OPERATION, "note").result == {"got": "x"}
    assert site.store.rung == [(OPERATION, "agent"), (OPERATION, "result:note")]
    assert (OPERATION, "half", (5, 10)) in site.store.notes
    assert "at work" in site.store.lines


def test_a_waiting_agent_hears_of_an_order_soon(site):
    loop = site.loop(note=lambda _parameters, _link: {})
    later = threading.Timer(0.3, site.give, ["note"])
    later.start()
    loop.turn()
    assert site.store.order(OPERATION, "note").ok


def test_the_seed_is_had_while_it_is_to_be_written(site):
    site.store.put_seed(OPERATION, b"seed")
    url = f"https://{HERE}:{site.port}/agent/v1/seed"
    loop = site.loop(
        write_seed=lambda _parameters, link: {"length": len(link.fetch(url, length=4))}
    )
    site.give("write_seed")
    loop.turn()
    assert site.store.order(OPERATION, "write_seed").result == {"length": 4}
    assert site.store.images == {}


def test_an_agent_whose_operation_has_ended_is_refused(site):
    loop = site.loop()
    site.store.change_boot(OPERATION, closed_at=WallSeconds(2.0))
    with pytest.raises(RefusedError):
        loop.turn()
