"""What the checks act with: two management servers, a pool, instances with UUIDs of its own."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from cloudstack_ext.conformance.model import FailedError, must, must_succeed, shown
from cloudstack_ext.management_server.cloud import USER, Caller, Cloud, Extension, Host, Settings
from cloudstack_ext.management_server.entry_point import Called, Children, Door, EntryPoint
from cloudstack_ext.management_server.instances import Instance, State
from cloudstack_ext.management_server.server import ManagementServer
from cloudstack_ext.power_view import PowerState
from provisioner.ports.clock import Clock
from provisioner.units import Seconds

STATES = {
    "prepare": State.STARTING,
    "create": State.STARTING,
    "start": State.STARTING,
    "stop": State.STOPPING,
    "delete": State.EXPUNGING,
}
"""Of the instance in the payload of each verb; in all others it is Running."""
LOOK_S = Seconds(0.1)
HELD_S = 3.0
"""How long a held output is waited for; the real server has no limit of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What the extension under judgement needs to be told.

    Attributes:
        host: External: details of the host.
        template: External: details of the template.
        wait_s: CloudStack's `wait`: the longest that a create may take.
        patience_s: How long a state may take to show in `status`, and a machine to be free again.
        kill_after_s: A create is in the middle so long after its begin.
        status_s: The most that a `status` may take: one after the other, each minute.
        delete_s: The most that a `delete` may take: the expunge thread does all, one by one.
    """

    host: Mapping[str, str] = field(default_factory=dict)
    template: Mapping[str, str] = field(default_factory=dict)
    wait_s: int = 1800
    patience_s: float = 60.0
    kill_after_s: float = 1.0
    status_s: float = 1.0
    delete_s: float = 15.0


@dataclass(slots=True, kw_only=True)
class Stage:
    """One run of the suite.

    Attributes:
        server: The one whose API calls are made.
        other: A second one with another folder for payloads.
        deleted_call: How the delete of `deleted` ended.
    """

    clock: Clock
    wishes: Wishes
    server: ManagementServer
    other: ManagementServer
    cloud: Cloud
    host: Host
    deleted_call: Called | None = None
    _running: Instance | None = None
    _deleted: Instance | None = None
    _made: list[Instance] = field(default_factory=list)

    # --- instances --------------------------------------------------------------------------------
    def fresh(self) -> Instance:
        """One that nobody has heard of; deleted after its check."""
        made = self.cloud.new_instance(
            template=self.wishes.template, offering={"class": "conformance"}
        )
        self._made.append(made)
        return made

    async def room(self) -> None:
        """Until a machine is free: what the checks before gave back may still be wiped.

        Raises:
            FailedError: `prepare` of a probe was refused for longer than the patience.
        """
        until = self._until()
        while True:
            probe = self.cloud.new_instance(template=self.wishes.template)
            called = await self.ask("prepare", probe)
            await self.ask("delete", probe)
            if not called.failure:
                return
            if self.clock.monotonic() > until:
                raise FailedError(f"no machine is free: {shown(called)}")
            await self.clock.sleep(LOOK_S)

    async def prepared(self) -> Instance:
        """A new one with a machine that is free; deleted after its check."""
        await self.room()
        made = self.fresh()
        must_succeed(await self.ask("prepare", made), "prepare")
        return made

    async def created(self) -> Instance:
        """A new one that was created; deleted after its check."""
        made = await self.prepared()
        must_succeed(await self.ask("create", made), "create")
        made.details.pop("deployvm", None)
        return made

    async def running(self) -> Instance:
        """One that is on; the same for all checks that leave it so."""
        found = self._running
        if found is not None and await self.power(found) is not PowerState.ON:
            await self.ask("start", found)
            if not await self.becomes(found, PowerState.ON):
                await self.ask("delete", found)
                found = None
        if found is None:
            found = await self.created()
            self._made.remove(found)
            must(await self.becomes(found, PowerState.ON), "created, and `status` never said on")
        self._running = found
        return found

    async def deleted(self) -> Instance:
        """One that was created and deleted; the same for all checks."""
        if self._deleted is None:
            made = await self.created()
            self._made.remove(made)
            self.deleted_call = await self.ask("delete", made)
            must_succeed(self.deleted_call, "delete")
            self._deleted = made
        return self._deleted

    async def tidy(self) -> None:
        """After each check: what it made is deleted, whatever state it is in."""
        while self._made:
            await self.ask("delete", self._made.pop())

    async def end(self) -> None:
        """After all."""
        await self.tidy()
        if self._running is not None:
            await self.ask("delete", self._running)

    # --- calls ------------------------------------------------------------------------------------
    async def ask(
        self,
        verb: str,
        instance: Instance,
        *,
        caller: Caller | None = USER,
        state: State | None = None,
        clean_up: bool = False,
        wait_s: int | None = None,
        server: ManagementServer | None = None,
    ) -> Called:
        """One call, whatever the server's own rules say of it."""
        sent = replace(instance, state=state or STATES.get(verb, State.RUNNING))
        return await (server or self.server).commands.send(
            verb, sent, caller=caller, host=self.host, clean_up=clean_up, wait_s=wait_s
        )

    async def power(self, instance: Instance) -> PowerState:
        """What `status` says now."""
        return (await self.ask("status", instance)).power_state()

    async def leaves(self, instance: Instance, unwanted: PowerState) -> bool:
        """Whether `status` stops saying so in time."""
        until = self._until()
        while await self.power(instance) is unwanted:
            if self.clock.monotonic() > until:
                return False
            await self.clock.sleep(LOOK_S)
        return True

    async def becomes(self, instance: Instance, wanted: PowerState) -> bool:
        """Whether `status` says so in time."""
        until = self._until()
        while await self.power(instance) is not wanted:
            if self.clock.monotonic() > until:
                return False
            await self.clock.sleep(LOOK_S)
        return True

    async def cut_create(self, instance: Instance) -> Called:
        """A create that is killed in the middle, as with its management server."""
        creating = asyncio.ensure_future(self.ask("create", instance))
        await self.clock.sleep(Seconds(self.wishes.kill_after_s))
        self.server.entry.door.kill_all()
        return await creating

    def _until(self) -> float:
        return self.clock.monotonic() + self.wishes.patience_s


def make_stage(
    argv: Sequence[str], folder: Path, clock: Clock, wishes: Wishes, door: Door | None = None
) -> Stage:
    """A stage for this entry point.

    Args:
        argv: Of the entry point, without verb, payload and wait.
        folder: For payload files.
        clock: A real one: the entry point's processes take real time.
        wishes: What the extension needs to be told.
        door: What starts the entry; None: real processes.
    """
    host = Host(name="conformance", details=dict(wishes.host), resourcemap={"pool": "conformance"})
    settings = Settings(
        wait_s=wishes.wait_s, stop_to_delete_s=0.0, job_cancel_s=0.0, expunge_delay_s=0.0
    )
    cloud = Cloud(hosts=[host], extension=Extension(), settings=settings)
    starts = door or Children(held_s=HELD_S)
    one, two = (
        ManagementServer(
            name=name,
            cloud=cloud,
            entry=EntryPoint(argv=argv, folder=folder / name, door=starts),
            clock=clock,
        )
        for name in ("one", "two")
    )
    return Stage(clock=clock, wishes=wishes, server=one, other=two, cloud=cloud, host=host)
