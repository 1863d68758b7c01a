"""Reinstall, reseed and rescue as tests ask for them."""

from dataclasses import replace

import pytest

from provisioner.errors import RackwrightError
from provisioner.operations.tenant_changes import Changes
from provisioner.operations.tenant_desk import Tenants
from provisioner.servers.model import Placement, Power, State
from tests.unit.operations.asking import note
from tests.unit.operations.world import REQUEST

KEY = REQUEST.key
LOGIN = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGfake alice"
ACTION = replace(REQUEST, pool=None, host=None, image=None, networks=(), ssh_keys=(LOGIN,))
"""What the payload of an action carries."""
NAMES = ("reinstall", "reseed", "rescue")
HOST_KEY = f"SHA256:{'A' * 43}"


async def certified(request, size):
    assert size == ""
    return replace(request, user_data=b"new", owner="ROOT/alice", truth="owner ROOT/alice")


class Asking:
    """The three, of one world; `seeds` has each request that became a seed."""

    def __init__(self, world, **more):
        self.world, self.seeds = world, []

        async def make_seed(request, server, sector_bytes):
            self.seeds.append(request)
            seed_id = request.seed_id or request.key.instance
            return f"{seed_id} on {server.nics[0].mac} {sector_bytes}".encode()

        self.changes = Changes(
            records=world.records,
            bell=world.bell,
            clock=world.clock,
            times=world.times,
            make_seed=make_seed,
            check_seed=lambda request: None,
            **more,
        )

    def __call__(self, name, *, ends=Power.ON, certify=certified, request=ACTION, within=6.0):
        until = self.world.within(within)
        if name == "rescue":
            return self.changes.rescue(request, until=until)
        act = getattr(self.changes, name)
        return act(request, ends=ends, certify=certify, until=until)

    def begin(self, name, **more):
        """Opened and not walked; answers the operation."""
        return self.world.do(self(name, within=0.0, **more)).operation.id

    def to_its_end(self, name, **more):
        return self.world.live(self(name, within=7200.0, **more))

    def refused(self, name, **more):
        with pytest.raises(RackwrightError) as caught:
            self.world.do(self(name, **more))
        return str(caught.value.code)


def settled(world):
    return world.state(), world.power_of(), world.placement(), world.allocation().wanted


OFF = (State.ACTIVE, Power.OFF, Placement.QUARANTINE, Power.OFF)


LAST_WRITE = {"reinstall": "write_seed", "reseed": "write_seed", "rescue": "rescue"}


def desk(world):
    return Tenants(
        records=world.records,
        bell=world.bell,
        clock=world.clock,
        times=world.times,
        kept=world.kept,
        certify=None,
    )


def view(world):
    return world.do(world.bare_metal.observe(KEY))


def fail(world, asking, name, **more):
    world.agents["s1"].fails[LAST_WRITE[name]] = ("DISK_FAILED", "an error")
    operation = asking.begin(name, **more)
    world.walk()
    world.agents["s1"].fails.clear()
    note(world, Power.OFF)
    return operation
