"""Routes of what was written down, and of how the service is."""

from dataclasses import replace

import pytest

from provisioner.operations.desk import (
    JournalCall,
    Readiness,
)
from provisioner.ports.journal import AuditEntry
from provisioner.servers.model import State
from provisioner.servers.turns import Turn
from provisioner.units import (
    OperationId,
    PoolName,
    ServerName,
    WallSeconds,
)
from tests.unit.service.operators import code_of


def test_the_journal_of_calls_is_shown_by_server_and_time(service):
    for at, server in ((1.0, "bios1"), (2.0, "b"), (3.0, "bios1")):
        service.desk.journal.append(
            JournalCall(
                at=WallSeconds(at),
                server=ServerName(server),
                door="controller",
                text="read power",
                outcome="ok",
            )
        )
    found = service.ask("GET", "/v1/calls?server=bios1&since=2").json()["calls"]
    assert [each["at"] for each in found] == [3.0]


def test_evidence_is_shown_as_it_was_stored(service):
    service.desk.chain.append({"id": "e1", "signature": "ab"})
    assert service.ask("GET", "/v1/evidence").json()["records"] == [{"id": "e1", "signature": "ab"}]


def test_readiness_says_what_keeps_it(service):
    assert service.ask("GET", "/v1/ready").json()["ready"] is True
    service.desk.state = Readiness(held="the database is older than its marker")
    reply = service.ask("GET", "/v1/ready")
    assert (reply.status, reply.json()["readiness"]["held"][:12]) == (503, "the database")


def test_metrics_count_servers_and_breakers(service):
    service.desk.state = Readiness(breakers=(ServerName("bios1"),))
    text = service.ask("GET", "/metrics").text
    assert 'rackwright_servers{pool="a",state="ENROLLED"} 1.0' in text
    assert 'rackwright_breaker_open{server="bios1"} 1.0' in text


# state, reason -> counted as one that a person should look at now
DOUBTS = [
    (State.QUARANTINED, "smoke; possibly still running: CONTROLLER_BUSY: it hangs", 1),
    (State.QUARANTINED, "smoke; not cut off: port p1 leads to tenant 7", 1),
    (State.QUARANTINED, "smoke", 0),
    (State.RELEASING, "possibly still running: it hangs", 0),
]


@pytest.mark.parametrize(("state", "reason", "count"), DOUBTS)
def test_metrics_count_quarantines_that_are_not_sure(service, state, reason, count):
    record = service.desk.kept["bios1"]
    service.desk.kept["bios1"] = replace(record, state=state, reason=reason)
    text = service.ask("GET", "/metrics").text
    assert f'rackwright_servers_flagged{{flag="in_doubt"}} {count}.0' in text


def test_metrics_count_releases_that_wait(service):
    waiting = "rackwright_releases_waiting"
    text = service.ask("GET", "/metrics").text
    assert f'{waiting}{{pool="a",why="pace"}} 0.0' in text
    turn = Turn(
        operation=OperationId("x"),
        server=ServerName("bios1"),
        pool=PoolName("a"),
        counted=True,
        held=False,
        waits_for="pace",
    )
    service.desk.turns = [turn, turn]
    text = service.ask("GET", "/metrics").text
    assert f'{waiting}{{pool="a",why="pace"}} 2.0' in text
    assert f'{waiting}{{pool="a",why="protected"}} 0.0' in text


def test_operators_see_who_did_what(service):
    for at, who, act, subject in ((1.0, "ann", "retire", "bios1"), (2.0, "ben", "put pool", "a")):
        entry = AuditEntry(at=WallSeconds(at), who=who, act=act, subject=subject)
        service.desk.acts.append(entry)
    found = service.ask("GET", "/v1/audit", uid=1).json()
    assert (found["version"], [each["who"] for each in found["acts"]]) == (1, ["ben", "ann"])
    for query in ("server=bios1", "most=1&server=bios1", "since=0.5&server=bios1"):
        (one,) = service.ask("GET", f"/v1/audit?{query}").json()["acts"]
        assert one["act"] == "retire"
    assert service.ask("GET", "/v1/audit?since=3").json()["acts"] == []
    assert code_of(service.ask("GET", "/v1/audit", uid=2)) == "PERMISSION"
