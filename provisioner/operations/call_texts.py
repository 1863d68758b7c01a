"""Calls to a controller in one line each: what the journal keeps and a dry run prints. Pure."""

from provisioner.ports.controllers import BootDevice, PowerAct
from provisioner.servers.model import FirmwareMode

READ_IDENTITY = "read identity"
READ_POWER = "read power"
READ_BOOT = "read boot"
READ_PROGRESS = "read boot progress"
READ_MEDIA = "read media"
LEAVE_NONCE = "leave nonce"
REMOVE_NONCE = "remove nonce"
STAY_OFF = "power restore stay-off"
OPEN_CONSOLE = "open console"


def power(act: PowerAct) -> str:
    """A button: "power on", "power off", "power soft-off", "power cycle"."""
    return f"power {act}"


def boot(device: BootDevice, mode: FirmwareMode) -> str:
    """A boot override: "boot network once uefi"."""
    return f"boot {device} once {mode}"
