"""One management server: its jobs, its pings, its background work.

Where the real one waits, it sleeps on `Clock`; what comes round by itself there (ping, the watch
over jobs, the expunge thread, the check of the path) is a method here, called when the caller
wants that round. Processes take the time they take.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from cloudstack_ext.management_server.cloud import SYSTEM, USER, Caller, Cloud, Host
from cloudstack_ext.management_server.commands import Commands
from cloudstack_ext.management_server.entry_point import HELD, Called, EntryPoint
from cloudstack_ext.management_server.expunging import Expunging
from cloudstack_ext.management_server.instances import Event, Instance, State
from cloudstack_ext.management_server.payload import Action
from cloudstack_ext.management_server.power_sync import PowerSync
from cloudstack_ext.management_server.starting import Starting
from cloudstack_ext.power_view import PowerState
from provisioner.ports.clock import Clock

ACTION_WAIT_S = 3
"""Default of a custom action's own time-out (read 1.4)."""
CANCELLED = "Unable to serialize: Job is cancelled as it has been blocking others for too long"
LOST = "job cancelled because of management server restart or shutdown"
NO_CONSOLE = "Console access to this instance cannot be provided"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What an API call ended with.

    Attributes:
        failure: The text that the user reads; "" for a success.
    """

    failure: str = ""

    @property
    def succeeded(self) -> bool:
        """Whether there is no failure."""
        return not self.failure


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionResult:
    """Of a custom action; its job is a success even where this is none (seen 2.15)."""

    success: bool
    details: str


def has_console(called: Called) -> bool:
    """What the server looks for in the answer to `getconsole` (read 2.10)."""
    said = called.parsed()
    console = said.get("console") if not called.failure and isinstance(said, dict) else None
    return isinstance(console, dict) and ("url" in console or {"host", "port"} <= set(console))


@dataclass(slots=True, eq=False)
class _Job:
    instance: Instance
    began: float
    ended: "asyncio.Future[Outcome]"


@dataclass(slots=True, kw_only=True)
class ManagementServer:
    """One of them.

    Attributes:
        name: Hosts whose `owner` it is are called by this one (read 1.7).
        caller: Whose API calls these are.
    """

    name: str
    cloud: Cloud
    entry: EntryPoint
    clock: Clock
    caller: Caller = USER
    commands: Commands = field(init=False)
    _jobs: list[_Job] = field(default_factory=list)
    _works: "set[asyncio.Task[None]]" = field(default_factory=set)

    def __post_init__(self) -> None:
        self.commands = Commands(cloud=self.cloud, entry=self.entry)
        self.cloud.entries[self.name] = self.entry

    # --- jobs of the work queue ---------------------------------------------------------------
    async def deploy(
        self, instance: Instance, *, hostid: Host | None = None, caller: Caller | None = None
    ) -> Outcome:
        """DeployVirtualMachine, or the first start; ends in Error where it fails (seen b)."""
        starting = Starting(commands=self.commands, clock=self.clock, caller=caller or self.caller)
        return await self._queued(instance, lambda: starting.run(instance, hostid=hostid))

    async def start(self, instance: Instance) -> Outcome:
        """StartVirtualMachine: `create` while the detail deployvm is there, else `start`."""
        if instance.state is State.RUNNING:
            return Outcome(failure=f"{instance.shown()} is already running")  # seen 3
        return await self.deploy(instance)

    async def stop(
        self, instance: Instance, *, forced: bool = False, caller: Caller | None = None
    ) -> Outcome:
        """StopVirtualMachine; of a Stopped one a success without a call (seen 3)."""
        return await self._queued(
            instance, lambda: self._stop(instance, forced=forced, caller=caller or self.caller)
        )

    async def reboot(self, instance: Instance) -> Outcome:
        """RebootVirtualMachine: one call, whose text reaches the user (seen r)."""
        return await self._queued(instance, lambda: self._reboot(instance))

    async def destroy(self, instance: Instance, *, expunge: bool = False) -> Outcome:
        """DestroyVirtualMachine: a `stop` where it runs; with `expunge` a `delete` after it."""
        stopped = await self.stop(instance)  # queued behind a start that goes on (seen s)
        if not stopped.succeeded:
            return stopped
        instance.move(Event.DESTROY_ASKED)
        instance.destroyed_at = self.clock.monotonic()
        if not expunge:
            return Outcome()
        return Outcome(failure=await self._expunging().run(instance, caller=self.caller))

    def recover(self, instance: Instance) -> None:
        """RecoverVirtualMachine: Stopped again, without a call (seen 2.19)."""
        instance.move(Event.RECOVERED)

    async def maintain(self, host: Host) -> None:
        """PrepareHostForMaintenance: a stop of all that runs there (seen p, pitfall 27)."""
        host.in_maintenance = True
        for instance in tuple(self.cloud.instances.values()):
            if instance.host == host.name and instance.state is State.RUNNING:
                await self.stop(instance, forced=True, caller=SYSTEM)

    # --- beside the work queue ----------------------------------------------------------------
    async def act(
        self, instance: Instance, action: Action, *, wait_s: int = ACTION_WAIT_S
    ) -> ActionResult:
        """RunCustomAction: at once, whatever else is going on (seen s, 2.15)."""
        if instance.state is State.ERROR or (instance.host or instance.last_host) is None:
            return ActionResult(success=False, details="Internal error running action")
        called = await self.commands.send(
            action.name, instance, caller=self.caller, action=action, wait_s=wait_s
        )
        details = HELD if called.held else called.failure or called.output.strip()
        return ActionResult(success=not called.failure, details=details)

    async def console(self, instance: Instance) -> Outcome:
        """CreateConsoleEndpoint: all but a url, or a host with its port, is none (seen e)."""
        called = await self.commands.send("getconsole", instance, caller=self.caller)
        return Outcome(failure="" if has_console(called) else NO_CONSOLE)

    async def class_name(self, name: str, host: Host) -> Called:
        """An agent command that the extension's host does not know (seen 2.3)."""
        return await self.commands.send_class_name(name, host)

    # --- what comes round -----------------------------------------------------------------------
    async def ping(self, host: Host) -> dict[str, PowerState]:
        """One ping of a host; every ping.interval there."""
        sync = PowerSync(commands=self.commands, clock=self.clock)
        return await sync.ping(host, {job.instance.uuid for job in self._jobs})

    async def expunge_round(self) -> None:
        """The expunge thread, for the whole installation one after the other (pitfall 14)."""
        await self._expunging().round()

    def job_round(self) -> None:
        """The watch over jobs: the user's fails, the work goes on (seen 2.20, 2.22)."""
        for job in tuple(self._jobs):
            if self.clock.monotonic() - job.began > self.cloud.settings.job_cancel_s:
                self._end(job, Outcome(failure=CANCELLED))

    def path_round(self) -> None:
        """The check of the entry; hosts added before it was ready stay as they are (seen l)."""
        self.cloud.extension.path_ready = self.commands.is_executable()

    # --- its own end ------------------------------------------------------------------------------
    def kill(self, *, children_too: bool) -> None:
        """Gone in the middle of everything.

        Args:
            children_too: As systemd does it, with the whole control group (read 1.2); without,
                what was called lives on (seen i.1).
        """
        for work in tuple(self._works):
            work.cancel()
        for job in tuple(self._jobs):
            self._end(job, Outcome(failure=LOST))
        if children_too:
            self.entry.door.kill_all()

    def restart(self) -> None:
        """Up again: Starting becomes Stopped and keeps its host, Stopping Running; no call."""
        for instance in self.cloud.instances.values():
            if instance.state in {State.STARTING, State.STOPPING}:
                instance.move(Event.SERVER_RESTARTED)
                instance.seen_at = self.clock.monotonic()

    def take_over(self, hosts: Sequence[Host]) -> None:
        """Own these hosts from now on, as after the end of another server (read 1.7)."""
        for host in hosts:
            host.owner = self.name

    # ----------------------------------------------------------------------------------------------
    async def _queued(self, instance: Instance, act: Callable[[], Awaitable[str]]) -> Outcome:
        """Behind what is going on for this instance; the job may end before its work does."""
        job = _Job(instance, self.clock.monotonic(), asyncio.get_running_loop().create_future())

        async def work() -> None:
            async with self.cloud.queue(instance):
                if not job.ended.done():
                    self._end(job, Outcome(failure=await act()))

        self._jobs.append(job)
        task = asyncio.ensure_future(work())
        self._works.add(task)
        task.add_done_callback(self._works.discard)
        both: set[asyncio.Future[Any]] = {task, job.ended}
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if task.done() and not task.cancelled():
            task.result()  # a defect of ours is not swallowed
        return await job.ended

    def _end(self, job: _Job, outcome: Outcome) -> None:
        if job in self._jobs:
            self._jobs.remove(job)
        if not job.ended.done():
            job.ended.set_result(outcome)

    async def _stop(self, instance: Instance, *, forced: bool, caller: Caller) -> str:
        if not instance.is_in(State.RUNNING):
            return ""
        instance.move(Event.STOP_ASKED)
        called = await self.commands.send("stop", instance, caller=caller)
        if not instance.is_in(State.STOPPING):
            return f"Unable to stop {instance.shown()}"
        if not called.failure:
            instance.move(Event.STOPPED)
            instance.host = None
            instance.details["Message.ReservedCapacityFreed.Flag"] = "false"
            return ""
        if not forced:
            instance.move(Event.STOP_FAILED)
            return f"Unable to stop {instance.shown()}"
        instance.move(Event.STOP_FORCED)  # Stopped, and the job fails all the same (seen d, m)
        instance.host = None
        return f"Unable to stop the virtual machine due to {called.failure}"

    async def _reboot(self, instance: Instance) -> str:
        if instance.state is not State.RUNNING:
            return f"Unable to reboot {instance.shown()}"
        called = await self.commands.send("reboot", instance, caller=self.caller)
        if called.failure:
            where = f"on Host {instance.host}"
            return f"Unable to reboot {instance.shown()} {where} due to {called.failure}"
        return ""

    def _expunging(self) -> Expunging:
        return Expunging(commands=self.commands, clock=self.clock)
