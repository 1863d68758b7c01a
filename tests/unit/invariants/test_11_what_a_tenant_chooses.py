"""11: a tenant chooses among its pool's images, and nothing else.

Which fields of a payload are read: tests/unit/cloudstack_ext/test_contract.py.
"""

from dataclasses import replace

import pytest

from provisioner.errors import InputError
from provisioner.ports.controllers import PowerAct
from provisioner.testing import store
from tests.unit.operations.world import REQUEST, image

OTHER = store.instance_request("22222222-2222-2222-2222-222222222222")


@pytest.fixture
def pools(world, tmp_path):
    """Pool b has the image `secret`, which pool a does not name, and no server."""
    world.database.catalogue.put_image(replace(image(tmp_path), name="secret"))
    world.database.catalogue.put_pool(replace(store.pool("b"), images={"theirs": "secret"}))
    return world


@pytest.mark.parametrize("name", ["secret", "theirs", "../secret", "", "tiny ", "TINY", "a/tiny"])
def test_only_names_in_the_pools_own_map_are_images(pools, name):
    with pytest.raises(InputError, match="IMAGE_"):
        pools.ask_for_deployment(replace(OTHER, image=name))
    assert pools.database.allocations.living() == ()


@pytest.mark.parametrize("verb", ["prepare", "create"])
def test_without_a_pool_of_the_operators_there_is_no_server(world, verb):
    request = replace(OTHER, pool=None)
    machines = world.bare_metal
    act = {
        "prepare": lambda: machines.reserve(request),
        "create": lambda: machines.deploy(request, until=world.within(1.0)),
    }[verb]
    with pytest.raises(InputError, match="POOL_MISSING"):
        world.do(act())
    assert world.database.allocations.living() == ()


@pytest.mark.parametrize("act", [PowerAct.ON, PowerAct.CYCLE])
def test_a_tenant_who_changes_the_image_gets_no_other_disk(active, act):
    """Details of an instance can be set at any time; a start and a reboot write nothing."""
    active.power(act, replace(REQUEST, image="another"))
    assert active.agents["s1"].done == []
    assert active.allocation().image == "tiny"


def test_nor_does_a_create_of_an_installed_instance(active):
    for wanted in ("another", None):
        request = replace(REQUEST, image=wanted, pool=None)
        active.live(active.bare_metal.deploy(request, until=active.within(1800.0)))
    assert active.agents["s1"].done == []
    assert active.allocation().image == "tiny"


def test_the_server_is_the_pools_first_by_name_whatever_was_asked(world):
    kept = world.do(world.bare_metal.reserve(replace(OTHER, name="s2", who="s2", hostname="s2")))
    assert kept.server == "s1"


def test_orders_carry_no_word_of_the_tenants(world):
    """But the digest of its seed: urls, disks and kinds are the service's own."""
    words = replace(OTHER, name="evil-name", hostname="evil-host", who="evil-who")
    operation = world.ask_for_deployment(words)
    world.walk()
    for step in ("write-image", "write-seed", "boot-order"):
        assert "evil" not in str(world.database.orders.order(operation, step).parameters)
    assert "evil" not in "\n".join(world.journal())
