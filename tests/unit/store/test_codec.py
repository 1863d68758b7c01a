"""Values survive the way through a JSON column."""

import json

from hypothesis import given
from hypothesis import strategies as st

from provisioner.hardware.inventory import Disk
from provisioner.servers.allocation import TenantNetwork
from provisioner.servers.model import Nic, Pool, RootDiskRule, ServerRecord
from provisioner.servers.operation import Effect
from provisioner.store.codec import fill, plain
from provisioner.testing import store

KINDS = (TenantNetwork, Nic, RootDiskRule, Pool, Disk)
VALUES = st.one_of(*(st.from_type(kind) for kind in KINDS))


@given(VALUES)
def test_a_value_comes_back_equal(value):
    assert fill(type(value), json.loads(json.dumps(plain(value)))) == value


def test_a_whole_server_comes_back_equal():
    record = store.new_server("s9")
    assert fill(ServerRecord, json.loads(json.dumps(plain(record)))) == record


def test_what_the_tree_lacks_gets_its_default():
    assert fill(Effect, {"step": "off", "begun": 1.0, "again": False}).beginnings == 1


def test_sets_are_sorted_so_that_equal_values_look_equal():
    assert plain(frozenset({"b", "a"})) == ["a", "b"]
