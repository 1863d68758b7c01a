import asyncio

import pytest

from provisioner.boot.token import digest
from provisioner.secret import Secret
from provisioner.servers.operation import Boot
from provisioner.service.boot_script import BootScripts
from provisioner.testing.boots import MemoryBoots
from provisioner.testing.clock import FakeClock
from provisioner.units import Epoch, OperationId, ServerName, WallSeconds
from tests.asgi import Reply, call

OPERATION = OperationId("11111111-1111-4111-8111-111111111111")
MAC = "52:54:00:00:00:01"
TARGET = f"/boot/ipxe?mac={MAC}"


class Rack:
    def __init__(self) -> None:
        self.store, self.clock = MemoryBoots(), FakeClock()
        self.tokens: list[Secret] = []
        self.app = BootScripts(
            boots=self.store,
            bell=self.store,
            calls=self.store,
            script=self.script,
            shut="#!ipxe\npoweroff\n",
            url="http://10.66.0.1:8080",
            clock=self.clock,
        ).app()
        self.store.open_boot(
            Boot(
                operation=OPERATION,
                server=ServerName("s1"),
                epoch=Epoch(3),
                mac=MAC,
                token_sha256="",
                opened_at=WallSeconds(1.0),
            )
        )

    def script(self, boot: Boot, token: Secret) -> str:
        self.tokens.append(token)
        return f"#!ipxe\nboot {boot.server} {token.reveal()}\n"

    def open_window(self) -> None:
        self.store.change_boot(OPERATION, window_opened_at=WallSeconds(2.0))

    def ask(self, target: str = TARGET, method: str = "GET", source: str = "10.66.0.9") -> Reply:
        return asyncio.run(call(self.app, method, target, client=source))


@pytest.fixture
def rack() -> Rack:
    return Rack()


def test_before_the_window_the_machine_is_told_to_ask_again(rack):
    reply = rack.ask()
    assert (reply.status, rack.tokens) == (200, [])
    assert f"chain --replace http://10.66.0.1:8080{TARGET}&asked=1" in reply.text
    assert "asked=8" in rack.ask(f"{TARGET}&asked=7").text


def test_asking_again_has_an_end(rack):
    assert rack.ask(f"{TARGET}&asked=900").text == "#!ipxe\npoweroff\n"


def test_in_the_window_the_script_is_had_once_with_a_token_that_is_kept_as_a_digest(rack):
    rack.open_window()
    reply = rack.ask()
    token = rack.tokens[0]
    assert reply.text == f"#!ipxe\nboot s1 {token.reveal()}\n"
    assert rack.store.boots[0].token_sha256 == digest(token)
    assert rack.store.boots[0].served_at == rack.clock.wall()
    assert rack.store.told == [("s1", "boot", "script to 10.66.0.9", "ok")]
    assert rack.store.rung == []


def test_a_second_request_is_refused_and_an_alarm(rack):
    rack.open_window()
    rack.ask()
    reply = rack.ask(source="10.66.0.66")
    assert reply.status == 403
    assert rack.tokens[0].reveal() not in reply.text
    assert rack.store.rung == [(OPERATION, "alarm:token")]


def test_two_at_once_give_one_script_and_one_alarm(rack):
    rack.open_window()

    async def both() -> list[int]:
        asked = [call(rack.app, "GET", TARGET, client=f"10.66.0.{n}") for n in (9, 66)]
        return sorted(reply.status for reply in await asyncio.gather(*asked))

    assert asyncio.run(both()) == [200, 403]
    assert rack.store.rung == [(OPERATION, "alarm:token")]


@pytest.mark.parametrize(
    "target",
    [
        "/boot/ipxe",
        "/boot/ipxe?mac=",
        "/boot/ipxe?mac=52:54:00:00:00:99",
        "/boot/ipxe?mac=${net0/mac}",
        "/boot/ipxe?mac=" + "5" * 5000,
    ],
)
def test_a_machine_without_an_operation_is_switched_off_and_not_let_through(rack, target):
    reply = rack.ask(target)
    assert (reply.status, reply.text) == (200, "#!ipxe\npoweroff\n")


def test_when_the_operation_ends_nothing_is_handed_out(rack):
    rack.open_window()
    rack.store.change_boot(OPERATION, closed_at=WallSeconds(3.0))
    assert rack.ask().text == "#!ipxe\npoweroff\n"


def test_a_head_request_does_not_take_the_script(rack):
    rack.open_window()
    assert rack.ask(method="HEAD").status == 405
    assert rack.store.boots[0].served_at is None


def test_a_mac_in_capitals_is_the_same_machine(rack):
    rack.open_window()
    assert rack.ask(TARGET.upper().replace("/BOOT/IPXE?MAC", "/boot/ipxe?mac")).status == 200
    assert len(rack.tokens) == 1


def test_nothing_else_answers_here(rack):
    assert rack.ask("/agent/v1/order").status == 404
    assert rack.ask("/v1/servers").status == 404


def test_a_source_that_asks_too_often_gets_nothing(rack):
    assert [rack.ask().status for _ in range(31)].count(429) == 1
