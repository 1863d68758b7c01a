"""`rackwright lab cloudstack`: the API server as a process of its own; needs no rack, no root."""

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from provisioner.lab.layout import LabPaths
from provisioner.lab.processes import Record

VERSION = 1
ROOT = Path(__file__).parents[2]
_NAME = "cloudstack-api"
_START_S = 20.0
_SHOWN = ("endpoint", "key", "secret", "calls")


@dataclass(frozen=True, slots=True, kw_only=True)
class LabCloudStack:
    """All of it may be repeated.

    Attributes:
        folder: Record of the process, its log, the call log, endpoint and key.
    """

    folder: Path

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> "LabCloudStack":
        """Beside the rack's files, which come and go without it."""
        return cls(folder=LabPaths.of(environ).cache / "cloudstack")

    def up(self, fail_call: int | None, when: str) -> Mapping[str, Any]:
        """Start it, or find it running; another `fail_call` starts another one.

        Returns:
            `version`, `endpoint`, `key`, `secret`, `calls`.

        Raises:
            OperatorError: LAB: it ended at once, or is silent.
        """
        for each in (self._run, self._logs):
            each.mkdir(parents=True, exist_ok=True)
        self.folder.chmod(0o700)
        fails = () if fail_call is None else ("--fail-call", str(fail_call), "--when", when)
        argv = [sys.executable, "-m", "cloudstack_ext.api_server", "--ready", str(self._ready)]
        self._record.start(
            _NAME,
            [*argv, "--calls", str(self.folder / "calls.jsonl"), *fails],
            environ={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        self._record.wait_for(_NAME, lambda: self._known() is not None, _START_S)
        return {name: value for name, value in self.status().items() if name != "running"}

    def down(self) -> None:
        """End it; what it knew is gone, its call log stays."""
        if self._run.exists():
            self._record.stop(_NAME)
        self._ready.unlink(missing_ok=True)

    def status(self) -> Mapping[str, Any]:
        """As `up` answers, with `running`; null where it does not run."""
        known = self._known() or dict.fromkeys(_SHOWN)
        return {"version": VERSION, "running": known["endpoint"] is not None, **known}

    def _known(self) -> dict[str, Any] | None:
        """What the running one has written; an older one's file does not count."""
        running = self._record.running(_NAME)
        try:
            written = json.loads(self._ready.read_text())
        except FileNotFoundError:
            return None
        if running is None or written["pid"] != running.pid:
            return None
        return {name: written[name] for name in _SHOWN}

    @property
    def _ready(self) -> Path:
        return self.folder / "ready.json"

    @property
    def _run(self) -> Path:
        return self.folder / "run"

    @property
    def _logs(self) -> Path:
        return self.folder / "log"

    @property
    def _record(self) -> Record:
        return Record(run=self._run, logs=self._logs)
