"""A double of the tools that erase disks, for what no emulator speaks; it lies as told.

It stands behind a regular file and answers nvme-cli, hdparm and sg3-utils as far as the agent
asks them. Which language it speaks follows from the file's name: nvme* or sd*.
"""

import json
import os
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from provisioner.agent.tool import NOT_THERE, ToolEnded

_RUNNING, _COMPLETED, _FAILED = 2, 1, 3
_DONE = ToolEnded(status=0)
_IDENTIFY = """
ATA device, with non-removable media
\tModel Number:       Double
Commands/features:
\tEnabled\tSupported:
\t   *\tSANITIZE feature set
\t   *\tCRYPTO_SCRAMBLE_EXT command
\t   *\tBLOCK_ERASE_EXT command
\t   *\tOVERWRITE_EXT command
Security:
\t\tsupported
\t{enabled}\tenabled
\t{locked}\tlocked
\t{frozen}\tfrozen
\t\tsupported: enhanced erase
\t2min for SECURITY ERASE UNIT. 2min for ENHANCED SECURITY ERASE UNIT.
"""
_OPCODES = " 48        1        10    0,0    Sanitize\n 48        2        10    0,0    Sanitize\n"


@dataclass(slots=True, kw_only=True)
class DiskDouble:
    """One disk; call it as agent.tool.RunTool.

    Attributes:
        erases: False: every command says success and nothing is erased.
        leaves: What erased bytes read as; noise is fresh each time.
        ends: How its sanitize ends: "completed", "failed", or "never" for a log that says so.
        looks: How often its log says "running" before that.
        frozen: Refuses security commands.
        takes_password: False: says success to a new password and has none, as QEMU's disks do.
        locked: Somebody's password is set, and was not given.
        said: All that was asked, in order.
    """

    path: Path
    erases: bool = True
    leaves: Callable[[int], bytes] = bytes
    ends: str = "completed"
    looks: int = 2
    frozen: bool = False
    takes_password: bool = True
    locked: bool = False
    passed: bool = True
    said: list[str] = field(default_factory=list)
    _password: bool = False
    _running: int = 0
    _state: int = 0

    def __call__(self, argv: Sequence[str], limit_s: float) -> ToolEnded:  # noqa: ARG002
        """Answer one command."""
        self.said.append(" ".join(argv))
        tool, *words = argv
        answers: dict[str, Callable[[list[str]], ToolEnded]] = {
            "nvme": self._nvme,
            "hdparm": self._hdparm,
            "sg_opcodes": lambda _: _text(_OPCODES),
            "sg_readcap": lambda _: _text("lbpme=0, lbprz=0"),
            "sg_requests": lambda _: _text(self._sense()),
            "sg_sanitize": lambda _: self._sanitize(),
            "smartctl": lambda _: _text(self._smart()),
            "blkdiscard": lambda _: self._erase(),
        }
        return answers[tool](words) if tool in answers else ToolEnded(status=NOT_THERE)

    def _erase(self) -> ToolEnded:
        if self.erases:
            size = self.path.stat().st_size
            with self.path.open("r+b") as file:
                file.write(self.leaves(size))
                os.fsync(file.fileno())
        return _DONE

    def _sanitize(self) -> ToolEnded:
        self._running, self._state = self.looks, _RUNNING
        return self._erase()

    def _look(self) -> int:
        """The state of the newest sanitize; each look brings it nearer to its end."""
        if self._state == _RUNNING:
            self._running -= 1
            if self._running < 0:
                self._state = {"completed": _COMPLETED, "failed": _FAILED, "never": 0}[self.ends]
        return self._state

    def _nvme(self, words: list[str]) -> ToolEnded:
        verb = words[0]
        if verb == "id-ctrl":
            body = {"oacs": 2, "fna": 4, "sanicap": 3, "unvmcap": "0"}
            return _text(json.dumps(body))
        if verb == "id-ns":
            return _text('{"dlfeat": 1}')
        if verb == "sanitize-log":
            log = struct.pack("<HHI", 0x8000, self._look(), 2)
            return ToolEnded(status=0, output=log + bytes(504))
        return self._sanitize() if verb == "sanitize" else self._erase()

    def _hdparm(self, words: list[str]) -> ToolEnded:
        if "-I" in words:
            return _text(self._identify())
        if "-N" in words:
            return _text(" max sectors   = 100/100, HPA is disabled")
        if "--sanitize-status" in words:
            return _text(self._sanitize_status())
        if any(word.startswith("--sanitize-") for word in words):
            return self._sanitize()
        return self._security(words)

    def _security(self, words: list[str]) -> ToolEnded:
        """Says success whatever becomes of it, as hdparm does."""
        if self.frozen:
            return _DONE
        if "--security-set-pass" in words:
            self._password = self.takes_password
        elif "--security-unlock" in words:
            self.locked = False
        elif "--security-disable" in words:
            self._password = False
        elif self._password:
            self._erase()
            self._password = not self.erases
        return _DONE

    def _identify(self) -> str:
        return _IDENTIFY.format(
            enabled="" if self._password or self.locked else "not",
            locked="" if self.locked else "not",
            frozen="" if self.frozen else "not",
        )

    def _sanitize_status(self) -> str:
        return {
            _RUNNING: "State:    SD2 Sanitize operation In Process\n    Progress: 0x8000 (50%)",
            _COMPLETED: "SD0 Sanitize Idle\n    Last Sanitize Operation Completed Without Error",
            _FAILED: "SD3 Sanitize Operation Failed",
        }.get(self._look(), "SD0 Sanitize Idle")

    def _sense(self) -> str:
        return {
            _RUNNING: "Logical unit not ready, sanitize in progress\n  Progress indication: 50.0%",
            _FAILED: "Sanitize command failed",
        }.get(self._look(), "Additional sense: No additional sense information")

    def _smart(self) -> str:
        protocol = "NVMe" if self.path.name.startswith("nvme") else "ATA"
        return json.dumps(
            {"device": {"protocol": protocol}, "smart_status": {"passed": self.passed}}
        )


def _text(text: str) -> ToolEnded:
    return ToolEnded(status=0, output=text.encode())
