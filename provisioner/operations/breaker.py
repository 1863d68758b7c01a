"""Leaves a controller alone that failed several times in a row, or refused a password."""

from collections.abc import Callable

from provisioner.errors import ErrorCode, OperatorError, RackwrightError, TransientError
from provisioner.ports.clock import Clock
from provisioner.secret import Secret
from provisioner.units import Seconds

FREE_FAILURES = 2
"""A lost datagram or two are no dead controller."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 15.0, 600.0
JITTER = 0.2
COUNTED = frozenset({ErrorCode.CONTROLLER_UNREACHABLE, ErrorCode.CONTROLLER_NONSENSE})
"""What a dead controller does. A busy one lives, and so does one that refuses."""

Credentials = tuple[str, Secret]


class Breaker:
    """What is remembered of one controller's failures.

    After FREE_FAILURES and n more in a row nobody asks it for min(600, 15 * 2**n) seconds, give
    or take a fifth. A refused password is never tried again with the same credentials.

    Args:
        clock: Pauses are measured by its monotonic time.
        jitter: From 0 to 1; spreads those who wait for a whole rack that lost its power.
    """

    def __init__(self, clock: Clock, jitter: Callable[[], float]) -> None:
        self._clock, self._jitter = clock, jitter
        self._failures = 0
        self._closed_until = 0.0
        self._refused: Credentials | None = None

    def remaining(self) -> Seconds:
        """How long it is still left alone; 0 when it may be asked."""
        return Seconds(max(0.0, self._closed_until - self._clock.monotonic()))

    def check(self, where: str, credentials: Credentials) -> None:
        """May it be asked now, with these?

        Raises:
            OperatorError: CONTROLLER_PASSWORD: it refused them before.
            TransientError: CONTROLLER_BREAKER.
        """
        if self._refused == credentials:
            raise OperatorError(
                ErrorCode.CONTROLLER_PASSWORD,
                f"{where} refused this password and is not asked again until it is changed",
            )
        if (pause := self.remaining()) > 0:
            raise TransientError(
                ErrorCode.CONTROLLER_BREAKER,
                f"{where} failed {self._failures} times and is left alone for {pause:.0f} s",
            )

    def answered(self) -> None:
        """It lives."""
        self._failures, self._refused = 0, None

    def failed(self, error: RackwrightError, credentials: Credentials) -> None:
        """Count what counts."""
        if error.code is ErrorCode.CONTROLLER_PASSWORD:
            self._refused = credentials
        if error.code not in COUNTED:
            return
        self._failures += 1
        if self._failures > FREE_FAILURES:
            pause = min(
                LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0 ** min(self._failures - FREE_FAILURES, 10)
            )
            spread = 1.0 + JITTER * (2.0 * self._jitter() - 1.0)
            self._closed_until = self._clock.monotonic() + pause * spread
