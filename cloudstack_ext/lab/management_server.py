"""What a management server 4.22 does around one verb, for the demo and the tests.

It writes the payload to a file, runs the entry with a silent open pipe as its input, both
outputs in one pipe that is read only after the end, and kills the direct child, nothing else,
when its wait is over. What prepare answered stands in the payloads after it.
"""

import json
import os
import subprocess
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cloudstack_ext.lab.payload import change_nics
from cloudstack_ext.power_view import PowerState

PREPARED = ("mac", "ip")
"""What the server takes of a NIC in prepare's answer, matched by nicUuid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """How one call of the entry ended.

    Attributes:
        exit: None where it was killed at the end of its wait.
        output: Both outputs together; empty where it was killed, as the server drops it.
        failure: "" for a success, else what the server writes into its log.
    """

    exit: int | None
    output: str
    seconds: float
    failure: str

    def power_state(self) -> PowerState:
        """What the server makes of the answer to `status`."""
        if self.failure:
            return PowerState.UNKNOWN
        try:
            said = json.loads(self.output)
        except ValueError:
            said = self.output
        if isinstance(said, dict):
            said = said.get("power_state")
        known = {state.lower(): state for state in PowerState}
        return known.get(str(said).strip().lower(), PowerState.UNKNOWN)


@dataclass(slots=True)
class ManagementServer:
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
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{uuid.uuid4()}.json"
        path.write_bytes(change_nics(payload, self._merge) if self._prepared else payload)
        path.chmod(0o644)
        called = self._run([*self.entry, verb, str(path), str(wait)], wait)
        if verb == "prepare" and not called.failure:
            called = self._take(called)
        if verb == "status" and not called.failure:
            path.unlink()
        return called

    def mac_of(self, nic_uuid: str) -> str:
        """What prepare answered for this NIC; "" where it answered nothing."""
        return self._prepared.get(nic_uuid, {}).get("mac", "")

    def _run(self, argv: list[str], wait: int) -> Called:
        began = time.monotonic()
        pipe, merged = subprocess.PIPE, subprocess.STDOUT
        with subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=merged) as child:
            try:
                code = child.wait(wait)
            except subprocess.TimeoutExpired:
                os.kill(child.pid, 9)
                seconds = time.monotonic() - began
                return Called(exit=None, output="", seconds=seconds, failure="Timeout")
            seconds = time.monotonic() - began
            assert child.stdout is not None
            output = child.stdout.read().decode("utf-8", "replace")
        failure = f"Exit code: {code}, Output: {output.strip()}" if code else ""
        return Called(exit=code, output=output, seconds=seconds, failure=failure)

    def _take(self, called: Called) -> Called:
        """Remember what prepare changed; an answer that is no object is a failure of prepare."""
        if not called.output.strip():
            return called
        try:
            answer: Any = json.loads(called.output)
            nics = answer.get("nics", [])
            taken = {nic["nicUuid"]: nic for nic in nics if nic.get("nicUuid")}
        except (ValueError, AttributeError, TypeError):
            return Called(
                exit=called.exit,
                output=called.output,
                seconds=called.seconds,
                failure="Failed to parse VM",
            )
        for nic, values in taken.items():
            wanted = {key: values[key] for key in PREPARED if values.get(key)}
            self._prepared[nic] = self._prepared.get(nic, {}) | wanted
        return called

    def _merge(self, nic: dict[str, Any]) -> None:
        nic.update(self._prepared.get(nic.get("nicUuid", ""), {}))
