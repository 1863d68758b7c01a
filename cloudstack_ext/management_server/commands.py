"""One command for one host: whether it is sent at all, with which wait, and what came of it.

Source: read 2.1 for the refusals; seen g, h, l, m, p.
"""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from cloudstack_ext.management_server.cloud import Caller, Cloud, Host
from cloudstack_ext.management_server.entry_point import Called, EntryPoint
from cloudstack_ext.management_server.instances import Instance, State
from cloudstack_ext.management_server.payload import Action, Sending, class_payload, payload_of

CLASSES: Mapping[str, str] = MappingProxyType(
    {
        "prepare": "PrepareExternalProvisioningCommand",
        "create": "StartCommand",
        "start": "StartCommand",
        "stop": "StopCommand",
        "delete": "StopCommand",
        "reboot": "RebootCommand",
        "getconsole": "GetExternalConsoleCommand",
    }
)
"""The Java class that `commands.timeout` names; `status` always has the global wait."""
CLASS_NAME_WAIT_S = 5
"""Of every other agent command, sent as a verb by its Java class name (seen 2.3)."""
DISABLED = "Extension is disabled"
NOT_READY = "Extension is not ready"
NOT_CONNECTED = "Extension not connected"
SENT_IN_MAINTENANCE = ("stop", "delete", "status")
"""Start, reboot, console and actions are refused (seen p)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """One call that was made.

    Attributes:
        state: The instance's in the payload.
        caller: Its name; "" where the payload has none.
    """

    verb: str
    instance: str
    state: State | None
    caller: str
    called: Called


@dataclass(slots=True, kw_only=True)
class Commands:
    """Of one management server.

    Attributes:
        sent: Every call that was made, in the order in which they ended.
    """

    cloud: Cloud
    entry: EntryPoint
    sent: list[Sent] = field(default_factory=list)

    def verbs(self, instance: Instance | None = None) -> list[str]:
        """What was sent, but for `status`, which is asked all the time."""
        return [
            each.verb
            for each in self.sent
            if each.verb != "status" and (instance is None or each.instance == instance.uuid)
        ]

    def is_executable(self) -> bool:
        """Whether the entry can be started now (seen l)."""
        found = shutil.which(self.entry.argv[0])
        return found is not None and Path(found).is_file() and os.access(found, os.X_OK)

    def refusal(self, verb: str, host: Host) -> str:
        """Why the server does not even call; "" where it does (read 2.1)."""
        extension = self.cloud.extension
        if not extension.registered or host.removed:
            return NOT_CONNECTED
        if verb == "status":  # goes on while disabled and in maintenance (seen h.6)
            return ""
        if not extension.enabled:
            return DISABLED
        if not host.ready:
            return NOT_READY
        if host.in_maintenance and verb not in SENT_IN_MAINTENANCE:
            return "Host is in maintenance"
        return ""

    async def send(
        self,
        verb: str,
        instance: Instance,
        *,
        caller: Caller | None,
        host: Host | None = None,
        action: Action | None = None,
        clean_up: bool = False,
        wait_s: int | None = None,
    ) -> Called:
        """Send one, or say why not: then `failure` is the server's own text.

        Args:
            verb: Or an action's name.
            instance: The payload carries it as it is now.
            caller: None only in `status`.
            host: The instance's own, else its last one, where none is given.
            action: Set for a custom action alone.
            clean_up: After a failed create or start.
            wait_s: Of a custom action.
        """
        host = host or self.cloud.host(instance.host or instance.last_host)
        refusal = self.refusal("action" if action else verb, host)
        if refusal:
            return Called(exit=None, output="", seconds=0.0, failure=refusal)
        sending = Sending(verb=verb, caller=caller, action=action, clean_up=clean_up)
        payload = payload_of(sending, instance, host, self.cloud.extension)
        state, wait = instance.state, self.wait_of(verb) if wait_s is None else wait_s
        called = await self._entry(host).ask(verb, payload, wait)
        name = "" if caller is None else caller.name
        self.sent.append(
            Sent(verb=verb, instance=instance.uuid, state=state, caller=name, called=called)
        )
        return called

    async def send_class_name(self, name: str, host: Host) -> Called:
        """What the server makes of an agent command that it does not know (seen 2.3)."""
        refusal = self.refusal("action", host)
        if refusal:
            return Called(exit=None, output="", seconds=0.0, failure=refusal)
        called = await self._entry(host).ask(name, class_payload(name), CLASS_NAME_WAIT_S)
        self.sent.append(Sent(verb=name, instance="", state=None, caller="", called=called))
        return called

    def wait_of(self, verb: str) -> int:
        """argv[3]: create and start share an override, stop and delete too (seen g)."""
        settings = self.cloud.settings
        return settings.command_waits.get(CLASSES.get(verb, ""), settings.wait_s)

    def _entry(self, host: Host) -> EntryPoint:
        """Whoever owns the host runs it; the others forward their commands (read 1.7)."""
        return self.cloud.entries.get(host.owner, self.entry)
