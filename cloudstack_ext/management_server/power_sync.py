"""Each ping: `status` of one instance after the other, and what the server does with the answers.

Source: seen 1 (h, i, j, l), 2.4, 2.10, 2.20, 2.22; read 1.8.
"""

from dataclasses import dataclass

from cloudstack_ext.management_server.cloud import SYSTEM, Host
from cloudstack_ext.management_server.commands import Commands
from cloudstack_ext.management_server.instances import Event, Instance, State
from cloudstack_ext.power_view import PowerState
from provisioner.ports.clock import Clock

SAME_MOST = 3
"""Equal reports that are acted upon: three stops, then never again while it stays so (seen h.3)."""
MISSING_PINGS = 2
"""Intervals without any report; then Stopped, without a call (read 1.8; seen l: about 2.5)."""
TOUCHED = (State.RUNNING, State.STARTING, State.STOPPING)
CHECK = "com.cloud.agent.api.CheckVirtualMachineCommand"


class PingLostError(Exception):
    """An exception in the server's own report: no state of any instance is applied (seen j.3)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerSync:
    """Of one management server.

    Attributes:
        with_job: Whether a start, stop or reboot of this instance is going on, and waited for.
    """

    commands: Commands
    clock: Clock

    async def ping(self, host: Host, with_job: set[str]) -> dict[str, PowerState]:
        """Ask for all, then act on all; what was reported, by uuid.

        Args:
            host: Its instances, and Stopped ones that ran there last (seen h.1).
            with_job: Those with a pending job: their reports are put off (read 1.8).

        Raises:
            PingLostError: An offering with a GPU profile, and its instance Stopped (seen j.3).
        """
        reports = await self._reports(host)
        for instance in tuple(self.commands.cloud.instances.values()):
            if instance.uuid in reports:
                await self._seen(instance, reports[instance.uuid], with_job)
            elif instance.host == host.name:
                self._missing(instance)
        return reports

    async def _reports(self, host: Host) -> dict[str, PowerState]:
        """Strictly one after the other; the first alone names a caller (seen h.1, h.2)."""
        reports = dict[str, PowerState]()
        if self.commands.refusal("status", host) or not self.commands.is_executable():
            return reports  # an empty report: all of them go missing (read 1.8)
        for instance in tuple(self.commands.cloud.instances.values()):
            if not _is_polled(instance, host):
                continue
            if instance.gpu_profile and instance.host is None:
                raise PingLostError(instance.shown())
            caller = None if reports else SYSTEM
            called = await self.commands.send("status", instance, caller=caller, host=host)
            reports[instance.uuid] = called.power_state()
        return reports

    async def _seen(self, instance: Instance, report: PowerState, with_job: set[str]) -> None:
        instance.seen_at = self.clock.monotonic()
        if report is PowerState.UNKNOWN:  # keeps its state, and is not missing (seen h.5)
            return
        if instance.uuid in with_job:
            instance.reported, instance.same = "", 0
            return
        instance.same = instance.same + 1 if report == instance.reported else 1
        instance.reported = report
        if instance.same > SAME_MOST:
            return
        if report is PowerState.ON:
            _seen_on(instance)
        else:
            await self._seen_off(instance)

    async def _seen_off(self, instance: Instance) -> None:
        """One `stop` by `system`, with the state as it is (seen h.3, i.2)."""
        if instance.state is State.STOPPED and instance.host is None:
            return  # an event, nothing else (read 1.8)
        if instance.offers_ha and instance.state is State.RUNNING:
            # sent, and whatever is answered the server fails by itself (seen 2.4)
            await self.commands.send_class_name(CHECK, self.commands.cloud.host(instance.host))
            return
        if instance.state not in {*TOUCHED, State.STOPPED}:
            return
        called = await self.commands.send("stop", instance, caller=SYSTEM)
        if not called.failure:
            instance.move(Event.SEEN_OFF)
            instance.host = None  # with no last host it is never asked for again (seen i.2)

    def _missing(self, instance: Instance) -> None:
        """Stopped without any call; the machine runs on, unmanaged (seen l, 2.10)."""
        age = self.clock.monotonic() - instance.seen_at
        if instance.state in TOUCHED and age > (
            MISSING_PINGS * self.commands.cloud.settings.ping_interval_s
        ):
            instance.move(Event.MISSING)
            instance.host = None


def _seen_on(instance: Instance) -> None:
    """Running, without a call and without its network (seen h.4, i.3)."""
    if instance.state in {State.STOPPED, State.STARTING, State.STOPPING}:
        instance.move(Event.SEEN_ON)
        instance.host = instance.last_host = instance.host or instance.last_host


def _is_polled(instance: Instance, host: Host) -> bool:
    """On the host, or Stopped and there last, until it is expunged (seen h.1)."""
    if instance.state in {State.GONE, State.EXPUNGING}:
        return False
    stopped_here = instance.host is None and instance.last_host == host.name
    return instance.host == host.name or (stopped_here and instance.state is State.STOPPED)
