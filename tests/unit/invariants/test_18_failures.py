"""How operations end when the records or the service itself are in trouble."""

import dataclasses

from provisioner.errors import ErrorCode, TransientError
from provisioner.servers.model import State
from provisioner.servers.operation import Status

AWAY_S = 3600.0


class Away:
    """Records whose database is busy for an hour, once a call of this name comes."""

    def __init__(self, world, inner, method, when=lambda *_: True):
        self._world, self._inner, self._method, self._when = world, inner, method, when
        self.until = None

    def __getattr__(self, name):
        call = getattr(self._inner, name)
        return call if name != self._method else lambda *given, **more: self._try(call, given, more)

    def _try(self, call, given, more):
        now = self._world.clock.wall()
        if self.until is None and self._when(*given):
            self.until = now + AWAY_S
        if self.until is not None and now < self.until:
            raise TransientError(ErrorCode.DATABASE_BUSY, "the database is busy")
        return call(*given, **more)


def with_records(world, **parts):
    """The service, with these in place of its records."""
    records = dataclasses.replace(world.records, **parts)
    world.doors = dataclasses.replace(world.doors, records=records)
    world.runner.doors = world.doors


def test_a_database_that_is_away_for_an_hour_costs_no_tenant_its_system(world):
    away = Away(world, world.effects, "finish", lambda _operation, step, *_: step == "alive")
    with_records(world, effects=away)
    operation = world.ask_for_deployment()
    world.walk()
    assert away.until is not None
    assert world.operation(operation).status is Status.DONE
    assert world.state() is State.ACTIVE


def test_nor_does_one_that_is_away_when_the_deployment_ends(world):
    away = Away(world, world.database.operations, "close")
    with_records(world, operations=away)
    operation = world.ask_for_deployment()
    world.walk()
    assert away.until is not None
    assert world.operation(operation).status is Status.DONE
    assert world.state() is State.ACTIVE


def test_a_failure_that_the_records_do_not_bear_out_is_a_quarantine(world, outsider):
    """A wrong request leaves a server as clean as it was: this one is not clean."""
    operation = world.ask_for_deployment()
    outsider(world, "UPDATE server SET dirty = 1 WHERE name = 's1'")
    world.database.seeds.drop_seed(operation)
    world.walk()
    assert world.operation(operation).status is Status.FAILED
    assert (world.state(), world.server().dirty) == (State.QUARANTINED, True)
    assert world.owner("s1") is None
