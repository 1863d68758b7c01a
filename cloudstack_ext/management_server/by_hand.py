"""Verbs sent by hand with payloads that somebody else makes: the demo, the rack, tests.

What prepare answered stands in the payloads after it; whether and when a verb is sent is the
caller's choice. `server.ManagementServer` is the whole one.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cloudstack_ext.contract import DETAILS
from cloudstack_ext.management_server.entry_point import Called, EntryPoint
from cloudstack_ext.management_server.merge import UnparsableError, merged
from cloudstack_ext.management_server.wire import change_nics


@dataclass(slots=True)
class ByHand:
    """One management server with one extension.

    Attributes:
        entry: argv of the entry point, without verb, payload and wait.
        folder: Where payload files are written; made when it is not there.
    """

    entry: Sequence[str]
    folder: Path
    _prepared: dict[str, dict[str, str]] = field(default_factory=dict)

    def call(self, verb: str, payload: bytes, wait: int) -> Called:
        """Run the entry for one verb.

        Args:
            verb: argv[1], or an action's or a Java class name.
            payload: As lab_payload gives it; what prepare answered is merged in here.
            wait: Seconds until the entry is killed.
        """
        if self._prepared:
            payload = change_nics(payload, self._merge)
        called = self.point().call(verb, payload, wait)
        if verb == "prepare" and not called.failure:
            called = self._take(payload, called)
        return called

    def point(self) -> EntryPoint:
        """The entry point itself."""
        return EntryPoint(argv=self.entry, folder=self.folder)

    def mac_of(self, nic_uuid: str) -> str:
        """What prepare answered for this NIC; "" where it answered nothing."""
        return self._prepared.get(nic_uuid, {}).get("mac", "")

    def _take(self, payload: bytes, called: Called) -> Called:
        """Remember what prepare changed; an answer that is no object is a failure of prepare."""
        try:
            answer = merged(json.loads(payload).get(DETAILS, {}), called.output)
        except UnparsableError as error:
            return replace(called, failure=str(error))
        for nic, values in answer.nics.items():
            self._prepared[nic] = self._prepared.get(nic, {}) | dict(values)
        return called

    def _merge(self, nic: dict[str, Any]) -> None:
        nic.update(self._prepared.get(nic.get("nicUuid", ""), {}))
