"""A request with what CloudStack says of its instance, or a refusal.

A first installation is not begun on a payload's word: it waits for the answer. A start asks,
and goes on without one: a tenant's system must not depend on an API.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from cloudstack_ext.bought import Told, bought, offered, same_size
from cloudstack_ext.truth import Truth
from provisioner.errors import ErrorCode, InputError, RackwrightError, TransientError
from provisioner.ports.clock import Clock
from provisioner.ports.registered import RegisteredRow
from provisioner.servers.allocation import InstanceKey, InstanceRequest, Protection
from provisioner.units import InstanceId, MonotonicSeconds, Seconds

T = TypeVar("T")

START_ASKS_S = 10.0
DELETE_ASKS_S = 2.0
ACTION_ASKS_S = 2.0
"""CloudStack's expunge thread goes through all instances one by one."""
ANEW_ASKS_S = 4.0
"""Of the eight in which an action is answered."""
PAUSES_S = (1.0, 2.0, 4.0, 8.0)
LAST_PAUSE_S = 15.0


def _no_list(_instance: InstanceId) -> bool | None:
    return None


@dataclass(slots=True, kw_only=True)
class Certifier:
    """For one CloudStack.

    Attributes:
        truth: Asks it.
        registered: What it holds for us.
        wait_s: How long a first installation waits for an answer (times.truth_wait_s).
        memory_s: How long a refusal by an answer is answered at once.
        listed: Whether an instance is protected by the last list, where that is young.
    """

    truth: Truth
    registered: Callable[[], Awaitable[tuple[RegisteredRow, ...]]]
    clock: Clock
    wait_s: float
    memory_s: float
    listed: Callable[[InstanceId], bool | None] = _no_list
    _refused: dict[InstanceKey, tuple[float, RackwrightError]] = field(default_factory=dict)

    async def certified(
        self, request: InstanceRequest, size: str | None, until: MonotonicSeconds
    ) -> InstanceRequest:
        """As it may be done; ports.machines.Certify, once it is told until when.

        Raises:
            TransientError: TRUTH_SILENT: a first installation had no answer in its time.
            RackwrightError: What was bought is not what is asked for.
        """
        if size is None:
            return await self._first(request, until)
        return await self._again(request, size, until)

    async def _first(self, request: InstanceRequest, until: MonotonicSeconds) -> InstanceRequest:
        self._known_refusal(request.key)
        instance = request.key.instance
        by = MonotonicSeconds(min(until, self.clock.monotonic() + self.wait_s))
        told = await self._patiently(lambda: self.truth.of(instance), by)
        try:
            found = bought(told, await self.registered(), pool=request.pool, image=request.image)
        except RackwrightError as error:
            self._refused[request.key] = (self.clock.monotonic(), error)
            raise
        user_data = request.user_data
        if user_data is None:
            user_data = await self._patiently(lambda: self.truth.user_data(instance), by)
        return replace(
            request,
            owner=told.owner,
            size=found.size,
            image=found.image,
            user_data=user_data,
            truth=told.in_words(),
        )

    async def _again(
        self, request: InstanceRequest, size: str, until: MonotonicSeconds
    ) -> InstanceRequest:
        by = MonotonicSeconds(min(until, self.clock.monotonic() + START_ASKS_S))
        try:
            told = await self._patiently(lambda: self.truth.of(request.key.instance), by)
        except TransientError as error:
            return replace(request, truth=f"not asked: {error.brief}")
        same_size(told, await self.registered(), size=size)
        return replace(request, owner=told.owner, truth=told.in_words())

    async def anew(
        self, request: InstanceRequest, size: str, image: str | None, until: MonotonicSeconds
    ) -> InstanceRequest:
        """As it may be written anew: with its user data, and the image's key if one is named.

        Asked once: whoever waits for an action has no time for a silent API.

        Args:
            request: With the pool that it is in.
            size: What was bought with it.
            image: A registered template's name or id; None: the one that it has.
            until: When the action must be answered.

        Raises:
            TransientError: TRUTH_SILENT.
            RackwrightError: What was bought is not what it has now; TEMPLATE_FOREIGN: its owner
                may not deploy from that template, or there is none.
        """
        by = MonotonicSeconds(min(until, self.clock.monotonic() + ANEW_ASKS_S))
        told = await self._bounded(self.truth.of(request.key.instance), by)
        rows = await self.registered()
        same_size(told, rows, size=size)
        bought(told, rows, pool=request.pool, image=None)
        key = None if image is None else await self._image(told, rows, image, by)
        user_data = await self._bounded(self.truth.user_data(request.key.instance), by)
        return replace(
            request,
            owner=told.owner,
            image=key,
            user_data=user_data,
            truth=told.in_words(),
        )

    async def _image(
        self, told: Told, rows: tuple[RegisteredRow, ...], image: str, by: MonotonicSeconds
    ) -> str:
        """One answer for what is not there and what is not for it: names tell of others."""
        named = offered(rows, asked=image)
        allowed = await self._bounded(self.truth.templates_of(told), by) if named else frozenset()
        found = next((row for row in named if row.outside_id in allowed), None)
        if found is None:
            text = f"no template that its owner may use is registered as {image!r}"
            raise InputError(ErrorCode.TEMPLATE_FOREIGN, text)
        return found.facts["image"]

    async def protection(self, instance: InstanceId) -> Protection:
        """Whether it may be deleted by mistake: as asked now, else as last listed, else unknown."""
        by = MonotonicSeconds(self.clock.monotonic() + DELETE_ASKS_S)
        try:
            is_protected = (await self._bounded(self.truth.of(instance), by)).is_protected
        except TransientError:
            is_protected = self.listed(instance)
        if is_protected is None:
            return Protection.UNKNOWN
        return Protection.PROTECTED if is_protected else Protection.UNPROTECTED

    async def names(self, instance: InstanceId) -> frozenset[str]:
        """What its owner calls it; none where nobody says so in time."""
        by = MonotonicSeconds(self.clock.monotonic() + ACTION_ASKS_S)
        try:
            return (await self._bounded(self.truth.of(instance), by)).names
        except TransientError:
            return frozenset()

    def _known_refusal(self, key: InstanceKey) -> None:
        """What an answer refused is not asked again by each of eleven retries."""
        now = self.clock.monotonic()
        self._refused = {k: v for k, v in self._refused.items() if now - v[0] < self.memory_s}
        if key in self._refused:
            raise self._refused[key][1]

    async def _patiently(self, ask: Callable[[], Awaitable[T]], by: MonotonicSeconds) -> T:
        """Again and again until there is an answer, ever more seldom."""
        pauses = iter(PAUSES_S)
        while True:
            try:
                return await self._bounded(ask(), by)
            except TransientError:
                pause = next(pauses, LAST_PAUSE_S)
                if self.clock.monotonic() + pause >= by:
                    raise
            await self.clock.sleep(Seconds(pause))

    async def _bounded(self, answer: Awaitable[T], by: MonotonicSeconds) -> T:
        try:
            async with asyncio.timeout(max(0.0, by - self.clock.monotonic())):
                return await answer
        except TimeoutError as error:
            text = "CloudStack was asked and did not answer in time"
            raise TransientError(ErrorCode.TRUTH_SILENT, text) from error
