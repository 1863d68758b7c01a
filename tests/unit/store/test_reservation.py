"""One statement hands out a server: the right one, and to one instance only."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from provisioner.errors import ConflictError, ErrorCode, InputError, TransientError
from provisioner.servers.allocation import Phase
from provisioner.servers.model import Maintenance, State
from provisioner.servers.states import Intent
from provisioner.testing import store
from provisioner.units import WallSeconds

NOW, UNTIL = WallSeconds(10.0), WallSeconds(1810.0)


def reserve(database, request=None):
    request = request or store.instance_request()
    return database.allocations.reserve(request, until=UNTIL, now=NOW)


def test_the_first_free_server_by_name_is_taken(database):
    before = database.servers.server("s1")
    allocation = reserve(database)
    after = database.servers.server("s1")
    assert (allocation.server, allocation.phase) == ("s1", Phase.RESERVED)
    assert allocation.reserved_until == UNTIL
    assert (after.state, after.epoch) == (State.RESERVED, before.epoch + 1)
    assert reserve(database).server == "s2"


def test_none_left_is_no_capacity(database):
    for _ in range(2):
        reserve(database)
    with pytest.raises(TransientError, match="NO_CAPACITY"):
        reserve(database)


def test_asking_again_gives_the_same_server_and_a_later_end(database):
    request = store.instance_request()
    first = reserve(database, request)
    later = WallSeconds(UNTIL + 60)
    again = database.allocations.reserve(request, until=later, now=NOW)
    assert (again.id, again.server, again.reserved_until) == (first.id, "s1", later)


def test_a_server_in_maintenance_is_left_out(database):
    database.servers.change("s1", maintenance=Maintenance(reason="fan", by="ann", since=NOW))
    assert reserve(database).server == "s2"
    database.servers.change("s1", maintenance=None)
    assert reserve(database).server == "s1"


def test_a_server_of_another_pool_is_left_out(database):
    database.catalogue.put_pool(store.pool("b"))
    store.make_available(database, "a-first-by-name", pool="b")
    assert reserve(database).server == "s1"
    assert reserve(database, store.instance_request(pool_name="b")).server == "a-first-by-name"


@pytest.mark.parametrize(
    ("requirement", "least"),
    [("min_cpu_threads", 9), ("min_memory_bytes", 2**40), ("min_gpus", 1)],
)
def test_what_the_pool_requires_decides(database, requirement, least):
    database.catalogue.put_pool(store.pool("a", **{requirement: least}))
    with pytest.raises(TransientError, match="NO_CAPACITY"):
        reserve(database)


def test_a_server_with_what_is_required_is_found_behind_others(database):
    store.make_available(database, "s3", threads=64, gpus=2)
    database.catalogue.put_pool(store.pool("a", min_cpu_threads=64, min_gpus=2))
    assert reserve(database).server == "s3"


def too_small(*names):
    """These servers' disks are smaller than the image."""

    def why_unfit(server):
        text = "disk sda has 1 bytes, the image needs 2"
        return InputError(ErrorCode.DISK_TOO_SMALL, text) if server.name in names else None

    return why_unfit


def reserve_fitting(database, why_unfit, request=None):
    request = request or store.instance_request()
    return database.allocations.reserve(request, until=UNTIL, now=NOW, why_unfit=why_unfit)


def test_the_first_by_name_that_fits_is_taken_and_the_others_are_left_alone(database):
    before = database.servers.server("s1")
    assert reserve_fitting(database, too_small("s1")).server == "s2"
    assert database.servers.server("s1") == before
    assert reserve(database).server == "s1"


def test_where_none_of_the_pool_fits_the_line_says_why_for_each(database):
    with pytest.raises(InputError) as caught:
        reserve_fitting(database, too_small("s1", "s2"))
    assert caught.value.code is ErrorCode.DISK_TOO_SMALL
    assert caught.value.brief == (
        "no server of pool a fits: s1: DISK_TOO_SMALL: disk sda has 1 bytes, the image needs 2; "
        "s2: DISK_TOO_SMALL: disk sda has 1 bytes, the image needs 2"
    )
    assert {each.state for each in database.servers.servers()} == {State.AVAILABLE}


def test_where_only_a_busy_one_may_fit_it_is_a_lack_of_capacity(database):
    reserve_fitting(database, too_small("s1"))
    with pytest.raises(TransientError, match=r"NO_CAPACITY.*s1: DISK_TOO_SMALL: disk sda"):
        reserve_fitting(database, too_small("s1"))


def test_a_line_names_ten_servers_at_most(database):
    names = [f"t{number:02}" for number in range(12)]
    for name in names:
        store.make_available(database, name)
    with pytest.raises(InputError) as caught:
        reserve_fitting(database, too_small("s1", "s2", *names))
    assert caught.value.brief.count("disk sda") == 10
    assert caught.value.brief.endswith("; and 4 more")


def test_a_reservation_that_was_made_for_less_is_changed_for_one_that_fits(database):
    request = store.instance_request()
    assert reserve(database, request).server == "s1"
    assert reserve_fitting(database, too_small("s1"), request).server == "s2"
    assert database.servers.server("s1").state is State.AVAILABLE
    assert len(database.allocations.living()) == 1


def test_a_pool_is_needed_and_must_be_there(database):
    with pytest.raises(InputError, match=ErrorCode.POOL_MISSING):
        reserve(database, store.instance_request(pool_name=None))
    with pytest.raises(InputError, match=ErrorCode.POOL_UNKNOWN):
        reserve(database, store.instance_request(pool_name="nowhere"))


def test_a_reservation_in_another_pool_is_given_back(database):
    request = store.instance_request()
    reserve(database, request)
    database.catalogue.put_pool(store.pool("b"))
    store.make_available(database, "b1", pool="b")
    moved = reserve(database, replace(request, pool="b"))
    assert moved.server == "b1"
    assert database.servers.server("s1").state is State.AVAILABLE


def test_a_reservation_on_a_quarantined_server_is_replaced(database):
    request = store.instance_request()
    first = reserve(database, request)
    database.operations.open("s1", store.operation(Intent.QUARANTINE), now=NOW)
    second = reserve(database, request)
    assert second.server == "s2"
    assert database.allocations.by_id(first.id).phase is Phase.ENDED
    assert database.servers.server("s1").state is State.QUARANTINED


def at_once(count, call):
    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(call, range(count)))


def attempt(database, request):
    try:
        return reserve(database, request).server
    except (TransientError, ConflictError) as error:
        return error.code


def test_sixty_four_at_once_get_two_servers(database):
    requests = [store.instance_request() for _ in range(64)]
    found = Counter(at_once(64, lambda n: attempt(database, requests[n])))
    assert found == {"s1": 1, "s2": 1, ErrorCode.NO_CAPACITY: 62}


def test_sixteen_at_once_for_one_instance_get_one_server(database):
    request = store.instance_request()
    assert Counter(at_once(16, lambda _: attempt(database, request))) == {"s1": 16}
    assert database.servers.server("s2").state is State.AVAILABLE


def test_two_creates_at_once_open_one_deployment(database, handed_over):
    request = store.instance_request()

    def create(_):
        new = store.operation(Intent.DEPLOY)
        return database.allocations.allocate_and_open(request, "tiny", new, now=NOW)

    found = at_once(8, create)
    assert len({(each.id, each.operation) for each in found}) == 1
    assert len(handed_over) == 1
