import hashlib
import threading
import time

import pytest

from provisioner.agent.connection import target_of
from provisioner.agent.order import OrderFailedError
from tests.unit.agent.scripted_service import HERE

pytestmark = pytest.mark.emulated


def url(server):
    return f"http://{HERE}:{server.port}/blobs/images/tiny/image.raw"


def test_a_range_is_fetched(agent, blob_server):
    blob_server.blob = bytes(range(256)) * 64
    assert agent.link.fetch(url(blob_server), start=300, length=1000) == blob_server.blob[300:1300]


def test_a_whole_blob_is_fetched(agent, blob_server):
    blob_server.blob = b"list of blocks" * 5000
    assert agent.link.fetch(url(blob_server)) == blob_server.blob


def test_a_blob_cut_in_the_middle_is_gone_on_with(agent, blob_server):
    blob_server.blob = hashlib.shake_256(b"").digest(3 << 20)
    blob_server.cut_after = 1_500_000
    assert (
        agent.link.fetch(url(blob_server), start=10, length=3_000_000)
        == (blob_server.blob[10:3_000_010])
    )
    assert len(blob_server.seen) == 2


def test_a_server_without_ranges_begins_again(agent, service):
    service.blob = b"seed" * 100_000
    service.has_ranges = False
    service.cut_after = 5000
    own = f"https://{HERE}:{service.port}/agent/v1/seed"
    assert agent.link.fetch(own) == service.blob


def test_a_blob_server_that_comes_back_is_found(agent, blob_server):
    blob_server.blob = b"x" * 100
    blob_server.stop()
    back = threading.Timer(0.1, blob_server.start)
    back.start()
    assert agent.link.fetch(url(blob_server), length=100) == blob_server.blob
    back.join()


def test_a_blob_server_that_stays_away_fails_the_order(agent, blob_server):
    blob_server.stop()
    with pytest.raises(OrderFailedError) as failed:
        agent.link.fetch(url(blob_server), length=100)
    assert failed.value.code == "BLOBS_UNREACHABLE"


@pytest.mark.parametrize("status", [403, 404, 416])
def test_a_blob_that_is_refused_fails_at_once(agent, blob_server, status):
    blob_server.statuses = [status]
    with pytest.raises(OrderFailedError) as failed:
        agent.link.fetch(url(blob_server), length=100)
    assert failed.value.code == "BLOBS_UNREACHABLE"
    assert len(blob_server.seen) == 1


def test_the_token_goes_to_the_service_alone(agent, blob_server, service):
    blob_server.blob = b"x"
    agent.link.fetch(url(blob_server))
    with pytest.raises(OrderFailedError, match="not a URL of this site"):
        agent.link.fetch(f"https://{HERE}:{blob_server.port}/blob")
    assert len(blob_server.seen) == 1


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "/blob",
        "file:///etc/passwd",
        "http:///x",
        "http://h/a b",
        "http://h/\r\nX: y",
        "http://h/ä",
    ],
)
def test_a_url_that_leads_elsewhere_is_refused(agent, bad):
    with pytest.raises(ValueError, match="URL"):
        target_of(bad, agent.settings)


@pytest.mark.parametrize(("start", "length"), [(-1, 10), (0, 0), (0, 65 << 20)])
def test_a_piece_out_of_bounds_is_refused(agent, blob_server, start, length):
    with pytest.raises(OrderFailedError):
        agent.link.fetch(url(blob_server), start=start, length=length)
    assert blob_server.seen == []


def test_journal_lines_are_cleaned_and_kept_over_a_lost_connection(agent, service, capsys):
    agent.link.journal("one\x1b[2Jtwo")
    agent.link.journal("y" * 5000)
    service.lose = 1
    agent.reports.send(most=1)
    agent.reports.send(most=1)
    assert service.lines == ["one?[2Jtwo", "y" * 1000]
    assert "one?[2Jtwo" in capsys.readouterr().out


def test_journal_calls_stay_below_64_kib(agent, service):
    for number in range(200):
        agent.link.journal(f"{number} " + "ä" * 900)
    for _ in range(40):
        agent.reports.send(most=1)
    assert [each.split()[0] for each in service.lines] == [str(n) for n in range(200)]
    assert service.count("/journal") > 10


def test_progress_of_each_disk_survives_a_lost_connection(agent, service):
    agent.reports.begin(4, 3)
    agent.link.progress(1, 10, disk="/dev/sda")
    agent.link.progress(2, 10, disk="/dev/sdb")
    service.lose = 1
    agent.reports.end()
    agent.reports.begin(5, 3)
    agent.link.progress(3, 10, disk="/dev/sda")
    agent.reports.end()
    assert [(each["order"], each["done_bytes"]) for each in service.progress] == [(5, 3)]


def test_a_running_order_shows_that_it_lives(agent, service):
    agent.reports.begin(4, 3)
    agent.link.progress(7, 10)
    agent.reports.send(most=1)
    time.sleep(0.06)  # longer than the beat of these tests
    agent.reports.send(most=1)
    assert [each["done_bytes"] for each in service.progress] == [7, 7]


def test_without_an_order_no_progress_goes_out(agent, service):
    agent.link.progress(1, 10)
    agent.reports.send(most=1)
    assert service.progress == []


def test_a_service_in_trouble_gets_journal_and_progress_again(agent, service):
    agent.reports.begin(4, 3)
    agent.link.journal("line")
    agent.link.progress(1, 10, disk="/dev/sda")
    service.statuses = [503, 503]
    for _ in range(4):
        agent.reports.send(most=1)
    assert service.lines == ["line"]
    assert [each["done_bytes"] for each in service.progress] == [1]
