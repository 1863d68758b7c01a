"""What operators ask of GPU hosts, on the real store: nothing is remembered that was not seen."""

import asyncio
import base64
import shutil
from dataclasses import replace

import pytest

from provisioner.config import Role
from provisioner.errors import ConflictError, ErrorCode, InputError, OperatorError, TransientError
from provisioner.hosts.model import CloudPlace, HostWanted, SshAccess, SshHop
from provisioner.operations.desk import Operator
from provisioner.operations.desk_hosts import HostBook
from provisioner.testing import store
from provisioner.testing.clock import FakeClock
from provisioner.testing.hosts import SHOWN_KEY, FakeGather
from provisioner.units import HostName, SiteName
from tests.unit.hosts.built import good_host

ROOT = Operator(name="root", role=Role.ADMIN, by="uid 0")
UUID = "4c4c4544-0035-4b10-8057-b7c04f000001"
ACCESS = SshAccess(target=SshHop(host="10.0.0.7", host_key="SHA256:" + "A" * 43))
GPU1 = HostName("gpu1")


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    folder = tmp_path_factory.mktemp("empty")
    store.open_store(folder, FakeClock()).close()
    return folder


@pytest.fixture
def database(empty, tmp_path):
    found = store.open_store(shutil.copytree(empty, tmp_path / "state"), FakeClock())
    yield found
    found.close()


@pytest.fixture
def gather():
    return FakeGather(content=good_host().packed())


@pytest.fixture
def book(database, gather):
    return HostBook(
        records=database.hosts,
        gather=gather,
        audit=database.audit,
        clock=FakeClock(),
        sites=frozenset({SiteName("zone1")}),
    )


def bundle(host=None):
    return base64.b64encode((host or good_host()).packed()).decode()


def add(book, dry_run=False, **fields):
    wanted = replace(HostWanted(name="gpu1", access=ACCESS), **fields)
    return asyncio.run(book.add(wanted, ROOT, dry_run=dry_run))


def inspect(book, text="", dry_run=False):
    return asyncio.run(book.inspect(GPU1, text, ROOT, dry_run=dry_run))


def refused(error, act):
    with pytest.raises(error) as caught:
        act()
    return caught.value.code


def test_a_host_is_looked_at_and_its_whole_key_pinned(book, gather, database):
    record = add(book)
    assert gather.asked == [ACCESS]
    assert record == database.hosts.host(GPU1)
    assert (record.system_uuid, record.access.target.host_key) == (UUID, SHOWN_KEY)
    assert record.facts.origin.way.value == "ssh"
    assert database.hosts.bundle(GPU1) == gather.content
    inspect(book)
    assert gather.asked[1].target.host_key == SHOWN_KEY
    acts = [(each.act, each.subject, each.detail) for each in database.audit.entries()]
    assert acts == [("inspect host", "gpu1", "ssh"), ("add host", "gpu1", "ssh")]


def test_a_host_may_be_known_by_a_bundle_alone(book, gather, database):
    record = add(book, access=None, bundle=bundle())
    assert (record.access, gather.asked) == (None, [])
    assert refused(InputError, lambda: inspect(book)) is ErrorCode.USAGE
    assert inspect(book, bundle()).facts.origin.way.value == "bundle"


def test_a_rehearsal_looks_and_remembers_nothing(book, gather, database):
    assert add(book, dry_run=True).system_uuid == UUID
    assert gather.asked
    assert database.hosts.hosts() == ()
    add(book)
    host = good_host()
    host.line("quiet")
    inspect(book, bundle(host), dry_run=True)
    assert "quiet" not in database.hosts.host(GPU1).facts.boot.command_line
    assert len(database.audit.entries()) == 1


@pytest.mark.parametrize("again", ["same texts", "another machine"])
def test_a_name_is_taken_once(book, again):
    add(book)
    host = good_host()
    if again == "another machine":
        host.files["/sys/class/dmi/id/product_uuid"] = "00000000-0000-4000-8000-00000000000c\n"
    assert refused(ConflictError, lambda: add(book, bundle=bundle(host))) is ErrorCode.HOST_EXISTS


def test_another_machines_texts_change_nothing(book, database):
    """Invariant 13: who it is must be said again, where it is said."""
    add(book)
    host = good_host()
    host.files["/sys/class/dmi/id/product_uuid"] = "00000000-0000-4000-8000-00000000000c\n"
    assert refused(OperatorError, lambda: inspect(book, bundle(host))) is ErrorCode.OTHER_MACHINE
    del host.files["/sys/class/dmi/id/product_uuid"]
    host.line("quiet")
    assert inspect(book, bundle(host)).system_uuid == UUID
    assert database.hosts.host(GPU1).system_uuid == UUID


@pytest.mark.parametrize("text", ["no base64!", "AAAA", base64.b64encode(b"\x1f\x8b").decode()])
def test_what_is_no_bundle_is_refused_before_anything_is_written(book, database, text):
    code = refused(InputError, lambda: add(book, access=None, bundle=text))
    assert code is ErrorCode.BUNDLE_INVALID
    assert database.hosts.hosts() == ()


def test_what_the_host_refuses_is_passed_on_and_nothing_is_written(book, gather, database):
    gather.fails = TransientError(ErrorCode.SSH_UNREACHABLE, "gpu1 does not answer")
    assert refused(TransientError, lambda: add(book)) is ErrorCode.SSH_UNREACHABLE
    assert database.hosts.hosts() == database.audit.entries() == ()


def test_a_site_that_the_settings_do_not_know(book):
    place = CloudPlace(site="zone9", uuid=UUID)
    assert refused(InputError, lambda: add(book, cloudstack=place)) is ErrorCode.SITE_UNKNOWN
    assert add(book, cloudstack=replace(place, site="zone1")).cloudstack.site == "zone1"


def test_a_bundle_with_an_address_needs_the_key_that_nobody_asks_for(book):
    access = replace(ACCESS, target=replace(ACCESS.target, host_key=""))
    wanted = {"access": access, "bundle": bundle()}
    assert refused(InputError, lambda: add(book, **wanted)) is ErrorCode.USAGE


def test_a_held_service_looks_and_writes_nothing(book):
    add(book)
    book.held = "an older copy was restored"
    assert asyncio.run(book.hosts())
    for act in (lambda: add(book), lambda: inspect(book)):
        assert refused(ConflictError, act) is ErrorCode.SERVICE_HELD
    inspect(book, dry_run=True)
