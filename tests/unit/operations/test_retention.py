"""What is kept for some days only: once an hour, each by itself."""

from provisioner.errors import ErrorCode, TransientError
from provisioner.operations.housekeeping import FORGET_EVERY_S, Housekeeping, Kept

DAY_S = 86400.0


def test_each_is_told_its_own_moment_once_an_hour_and_one_that_fails_stops_no_other(world):
    asked = []

    def broken(_before):
        asked.append("broken")
        raise TransientError(ErrorCode.DATABASE_BUSY, "the database is busy")

    def gone(before):
        asked.append(round((world.clock.wall() - before) / DAY_S))
        return 1

    keeping = Housekeeping(
        records=world.records,
        machines=world.bare_metal,
        clock=world.clock,
        forget=lambda _before: 0,
        kept=(
            Kept(what="first", days=9, forget=broken),
            Kept(what="second", days=30, forget=gone),
        ),
    )
    world.pass_time(FORGET_EVERY_S)
    world.do(keeping.round())
    world.do(keeping.round())
    assert asked == ["broken", 30]
    world.pass_time(FORGET_EVERY_S)
    world.do(keeping.round())
    assert asked == ["broken", 30] * 2
