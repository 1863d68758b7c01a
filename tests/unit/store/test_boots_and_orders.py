"""Network boots hand out one token once; orders are numbered and answered once."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from provisioner.errors import ConflictError
from provisioner.servers.operation import AgentOrder, Boot
from provisioner.servers.states import Intent
from provisioner.testing import store
from provisioner.units import ServerName, WallSeconds

NOW = WallSeconds(10.0)
S1 = ServerName("s1")
MAC = "52:54:00:00:00:01"


@pytest.fixture
def running(database):
    new = store.operation(Intent.CLEAN)
    return database.operations.open(S1, new, now=NOW)


@pytest.fixture
def boot(database, running):
    made = Boot(
        operation=running.id,
        server=S1,
        epoch=running.epoch,
        mac=MAC,
        token_sha256="",
        opened_at=NOW,
    )
    database.boots.open_boot(made)
    return made


def open_window(database, boot):
    database.boots.change_boot(boot.operation, window_opened_at=NOW)


def test_no_script_before_power_on_was_confirmed(database, boot):
    assert not database.boots.hand_out(MAC, "t1", now=NOW)
    open_window(database, boot)
    assert database.boots.hand_out(MAC, "t1", now=NOW)


def test_one_script_a_boot_however_many_ask_at_once(database, boot):
    open_window(database, boot)
    with ThreadPoolExecutor(8) as threads:
        found = list(
            threads.map(lambda n: database.boots.hand_out(MAC, f"t{n}", now=NOW), range(8))
        )
    assert Counter(found) == {True: 1, False: 7}
    token = f"t{found.index(True)}"
    assert database.boots.boot_of_token(token).served_at == NOW
    assert database.boots.boot_of_token("t8") is None


def test_a_boot_that_has_a_token_accepts_only_that_one(database, boot):
    database.boots.open_boot(replace(boot, token_sha256="known"))
    open_window(database, boot)
    assert not database.boots.hand_out(MAC, "other", now=NOW)
    assert database.boots.hand_out(MAC, "known", now=NOW)


def test_a_served_boot_keeps_its_token(database, sql, boot):
    open_window(database, boot)
    database.boots.hand_out(MAC, "t1", now=NOW)
    assert "one script" in sql.refused("UPDATE boot SET served_at = NULL")
    assert "one script" in sql.refused("UPDATE boot SET token_sha256 = 't2'")
    anew = (
        "INSERT OR REPLACE INTO boot (number, operation, server, epoch, mac, token_sha256,"
        " opened_at) SELECT number, operation, server, epoch, mac, '', 1 FROM boot"
    )
    assert "rows stay" in sql.refused(anew)
    with pytest.raises(ValueError, match="served_at"):
        database.boots.change_boot(boot.operation, served_at=None)


def test_a_script_is_not_served_before_its_window_not_even_by_hand(sql, boot):
    assert "window_first" in sql.refused("UPDATE boot SET served_at = 1")


def test_a_newer_boot_closes_the_older_one(database, boot):
    open_window(database, boot)
    database.boots.hand_out(MAC, "t1", now=NOW)
    database.boots.open_boot(replace(boot, opened_at=WallSeconds(20.0)))
    assert database.boots.boot_of_token("t1") is None
    assert database.boots.boot_of_mac(MAC).opened_at == 20.0


def test_a_server_has_one_open_boot(sql, boot):
    again = (
        "INSERT INTO boot (operation, server, epoch, mac, token_sha256, opened_at)"
        " SELECT operation, server, epoch, mac, '', 1 FROM boot"
    )
    assert "UNIQUE" in sql.refused(again)


def test_a_boot_is_over_with_its_operation(database, boot):
    open_window(database, boot)
    database.operations.open(S1, store.operation(Intent.QUARANTINE), now=NOW)
    assert database.boots.boot_of_mac(MAC) is None
    assert not database.boots.hand_out(MAC, "t1", now=NOW)
    with pytest.raises(ConflictError, match="SUPERSEDED"):
        database.boots.open_boot(boot)


def test_a_closed_boot_offers_nothing(database, boot):
    open_window(database, boot)
    database.boots.change_boot(boot.operation, closed_at=NOW)
    assert not database.boots.hand_out(MAC, "t1", now=NOW)
    with pytest.raises(ConflictError, match="has no boot"):
        database.boots.change_boot("nobody", closed_at=NOW)


def order(running, step, **also):
    return AgentOrder(
        operation=running.id,
        step=step,
        number=0,
        epoch=running.epoch,
        kind=step,
        parameters={"bytes": 4096},
        **also,
    )


def test_orders_are_numbered_and_the_same_step_is_the_same_order(database, running):
    first = database.orders.put_order(order(running, "inspect"))
    second = database.orders.put_order(order(running, "erase"))
    assert (first.number, second.number) == (1, 2)
    assert database.orders.put_order(order(running, "inspect")) == first
    assert database.orders.next_order(running.id, 0) == first
    assert database.orders.next_order(running.id, 1) == second
    assert database.orders.next_order(running.id, 2) is None


def test_an_order_is_answered_once(database, sql, running):
    put = database.orders.put_order(order(running, "inspect"))
    answer = replace(put, ok=True, result={"disks": [1]})
    assert database.orders.answer_order(answer)
    assert not database.orders.answer_order(replace(put, ok=False, error_code="X"))
    assert database.orders.order(running.id, "inspect") == answer
    assert database.orders.next_order(running.id, 0) is None
    assert "answered once" in sql.refused("UPDATE agent_order SET ok = 0")
    anew = "INSERT OR REPLACE INTO agent_order SELECT * FROM agent_order"
    assert "rows stay" in sql.refused(anew)
    assert database.orders.order(running.id, "erase") is None


def test_a_closed_operation_orders_nothing(database, sql, running):
    database.orders.put_order(order(running, "inspect"))
    assert "written once" in sql.refused("UPDATE agent_order SET epoch = 99")
    database.operations.open(S1, store.operation(Intent.QUARANTINE), now=NOW)
    assert database.orders.next_order(running.id, 0) is None
