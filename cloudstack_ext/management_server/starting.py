"""Deployment and start: prepare once, then create or start and the stop after each failure.

Source: seen 1 (a, a2, b, c), i, 2.20; read 2.6, 2.7.
"""

from dataclasses import dataclass

from cloudstack_ext.contract import DETAILS
from cloudstack_ext.management_server.cloud import Caller, Host
from cloudstack_ext.management_server.commands import Commands
from cloudstack_ext.management_server.instances import Event, Instance, State
from cloudstack_ext.management_server.merge import UnparsableError, merged
from cloudstack_ext.management_server.payload import Sending, body_of
from provisioner.ports.clock import Clock
from provisioner.units import Seconds

CREATE_FLAG = "deployvm"
"""A detail: "true" makes it `create`; taken away by the first success alone (read 2.7)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Starting:
    """One start job, from Stopped to Running or back."""

    commands: Commands
    clock: Clock
    caller: Caller

    async def run(self, instance: Instance, *, hostid: Host | None = None) -> str:
        """The failure's text as the user reads it; "" for a success.

        Args:
            instance: Stopped; its first run deploys it, and ends in Error where that fails.
            hostid: Given by root: taken without any check, and tried once (seen b).
        """
        cloud = self.commands.cloud
        deploying = not instance.starts
        refusal = self._refusal(instance, hostid)
        instance.move(Event.START_ASKED)
        attempts = cloud.settings.start_retry + 1 if cloud.settings.start_retry else 0
        for attempt in range(0 if refusal else 1 if hostid else attempts):
            await self._pause(attempt)
            host = hostid or cloud.planned(instance)
            if host is None:
                break
            instance.host, instance.seen_at = host.name, self.clock.monotonic()
            if await self._attempt(instance, host):
                return ""
            if not instance.is_in(State.STARTING):  # power sync was quicker (seen 2.20)
                return _opaque(instance)
        instance.move(Event.DEPLOY_FAILED if deploying else Event.START_FAILED)
        instance.host = None  # and so no `delete` will ever come for it (seen c)
        return refusal or _opaque(instance)

    async def _pause(self, attempt: int) -> None:
        """2 s before the second, then as fast as the script answers (seen b)."""
        settings = self.commands.cloud.settings
        if attempt:
            pause = settings.first_retry_s if attempt == 1 else settings.retry_s
            await self.clock.sleep(Seconds(pause))

    def _refusal(self, instance: Instance, hostid: Host | None) -> str:
        """What the planner says before anything is sent (seen l, m, p, 2.11)."""
        cloud = self.commands.cloud
        if instance.last_host is not None and cloud.host(instance.last_host).removed:
            return 'Cannot invoke "getDataCenterId()" because "h" is null'
        usable = cloud.extension.enabled and cloud.extension.path_ready
        if not usable or (hostid is None and cloud.planned(instance) is None):
            return f"No destination found for a deployment for {instance.shown()}"
        return ""

    async def _attempt(self, instance: Instance, host: Host) -> bool:
        if self.commands.refusal("start", host):  # nothing is sent for it, no stop either
            return False
        first, instance.starts = not instance.starts, instance.starts + 1
        asked = first and self.commands.cloud.extension.prepares
        if asked and not await self._prepare(instance, host):
            await self._clean_up(instance, host, after_start=False)
            return False
        verb = "create" if instance.details.get(CREATE_FLAG) == "true" else "start"
        called = await self.commands.send(verb, instance, caller=self.caller, host=host)
        if called.failure:
            if instance.is_in(State.STARTING):
                await self._clean_up(instance, host, after_start=True)
            return False
        if not instance.is_in(State.STARTING, State.RUNNING):  # stopped meanwhile (seen 2.20)
            await self._clean_up(instance, host, after_start=True)
            return False
        if instance.is_in(State.STARTING):  # else power sync was quicker
            instance.move(Event.STARTED)
        instance.details.pop(CREATE_FLAG, None)
        instance.last_host, instance.seen_at = host.name, self.clock.monotonic()
        return True

    async def _prepare(self, instance: Instance, host: Host) -> bool:
        """A failure stops nothing: the next attempt is a create without it (seen a2)."""
        cloud = self.commands.cloud
        sending = Sending(verb="prepare", caller=self.caller)
        received = body_of(sending, instance, host, cloud.extension)[DETAILS]
        called = await self.commands.send("prepare", instance, caller=self.caller, host=host)
        if called.failure:
            return False
        try:
            answer = merged(received, called.output)
        except UnparsableError:
            return False
        for nic in instance.nics:
            taken = answer.nics.get(nic.nic_uuid, {})
            nic.mac, nic.ip = taken.get("mac", nic.mac), taken.get("ip", nic.ip)
        if answer.details is not None:
            instance.details = dict(answer.details)
        return True

    async def _clean_up(self, instance: Instance, host: Host, *, after_start: bool) -> None:
        """Always `stop`, never `delete`; its answer changes nothing (seen c)."""
        await self.commands.send(
            "stop", instance, caller=self.caller, host=host, clean_up=after_start
        )


def _opaque(instance: Instance) -> str:
    """All that a user and an administrator ever read of a failed start (seen b)."""
    return f"Unable to orchestrate the start of {instance.shown()}."
