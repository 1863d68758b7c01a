"""Expunge: the only thing that ever sends `delete`.

Source: seen 1 (c, j, m, n), 2.10, 2.11, 2.19; read 2.8.
"""

from dataclasses import dataclass

from cloudstack_ext.management_server.cloud import SYSTEM, Caller
from cloudstack_ext.management_server.commands import Commands
from cloudstack_ext.management_server.instances import Event, Instance, State
from provisioner.ports.clock import Clock
from provisioner.units import Seconds

FLAG = "expunge.external.vm"
"""The `stop` before it may carry the same detail: argv[1] alone tells them apart (read 2.2)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expunging:
    """Of one management server."""

    commands: Commands
    clock: Clock

    async def run(self, instance: Instance, *, caller: Caller) -> str:
        """From Destroyed, or again from Expunging; the failure's text reaches the caller."""
        if instance.state is State.DESTROYED:
            instance.move(Event.EXPUNGE_ASKED)
        instance.details[FLAG] = "true"
        if instance.gpu_profile:  # stuck, and only the database helps (seen j.3)
            return 'Cannot invoke "java.lang.Long.longValue()": getHostId() is null'
        if (instance.host or instance.last_host) is None:
            instance.move(Event.EXPUNGED)  # never called for it: what it had bound leaks (seen c)
            return ""
        await self.clock.sleep(Seconds(self.commands.cloud.settings.stop_to_delete_s))
        called = await self.commands.send("delete", instance, caller=caller)
        instance.destroyed_at = self.clock.monotonic()
        if called.failure:
            return f"Unable to expunge {instance.shown()} due to {called.failure}"
        instance.move(Event.EXPUNGED)
        return ""

    async def round(self) -> None:
        """What was destroyed, or failed, expunge.delay ago (seen n)."""
        delay = self.commands.cloud.settings.expunge_delay_s
        for instance in tuple(self.commands.cloud.instances.values()):
            old = self.clock.monotonic() - instance.destroyed_at > delay
            if old and instance.state in {State.DESTROYED, State.EXPUNGING}:
                await self.run(instance, caller=SYSTEM)
