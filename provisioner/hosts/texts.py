"""Texts of a bundle by the name that the host has for them. Pure."""

import re
from dataclasses import dataclass, field
from typing import Final

from provisioner.hardware.tree import clean
from provisioner.hardware.unknown import NOT_SAID, Problem, Unknown
from provisioner.hosts.bundle import Bundle
from provisioner.hosts.recorded_files import Below, RecordedFiles

COMMANDS: Final = {
    "acpi-tables": "ls /sys/firmware/acpi/tables",
    "efi-variables": "od of /sys/firmware/efi/efivars",
    "grub-entries": "grep of grub.cfg",
    "lspci": "lspci",
    "uname": "uname -m",
    "kernel-log": "dmesg",
    "fabric-manager": "journalctl -u nvidia-fabricmanager",
    "secure-boot": "mokutil --sb-state",
    "tools": "command -v",
    "services": "systemctl show",
    "packages": "dpkg-query or rpm",
    "virsh-list": "virsh list --all",
    "virsh-domains": "virsh dumpxml",
    "agent-properties": "grep of agent.properties",
    "discovery-script": "sha256sum of gpudiscovery.sh",
    "nvidia-smi": "nvidia-smi --query-gpu",
    "nvidia-mig": "nvidia-smi mig -lgi",
    "nvidia-nvlink": "nvidia-smi nvlink -s",
}
"""Every output that a bundle may have, and what people call it."""


@dataclass(slots=True)
class Texts:
    """A bundle, as parsers ask it; problems gather here."""

    bundle: Bundle
    problems: list[Problem] = field(default_factory=list)
    files: RecordedFiles = field(init=False)
    sys: Below = field(init=False)

    def __post_init__(self) -> None:
        """Index the files once."""
        self.files = RecordedFiles(self.bundle.files, self.bundle.links)
        self.sys = self.files.below("/sys")
        for name in sorted(self.bundle.commands.keys() - COMMANDS.keys()):
            self.complain(f"commands/{name}", "unknown name")

    def complain(self, path: str, text: str) -> None:
        """hardware.unknown.Complain."""
        self.problems.append(Problem(path=path, text=text))

    def file(self, path: str) -> str | Unknown:
        """The whole text of a file on the host."""
        content = self.files.read(path)
        return NOT_SAID if content is None else content.decode("utf-8", "replace")

    def line(self, path: str) -> str | Unknown:
        """A file of one line, trimmed."""
        content = self.files.read(path)
        return NOT_SAID if content is None else clean(content) or ""

    def command(self, name: str, *, partial: bool = False) -> str | Unknown:
        """Output of a command.

        Args:
            name: As in a bundle.
            partial: Also where the command ended with a complaint.
        """
        found = self.bundle.commands.get(name)
        if found is None:
            return NOT_SAID
        if found.status is None:
            return Unknown(unknown=f"the host has no `{COMMANDS.get(name, name).split()[0]}`")
        if found.status and not (partial and found.output):
            said = _first_line(found.errors) or f"status {found.status}"
            return Unknown(unknown=f"`{COMMANDS.get(name, name)}` failed: {said}")
        return found.output


def _first_line(text: str) -> str:
    line = next((each.strip() for each in text.splitlines() if each.strip()), "")
    return re.sub(r"[^ -~]", "?", line)[:120]
