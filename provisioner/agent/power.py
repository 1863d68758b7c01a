"""The orders power_off and reboot: nothing but a result, and then the act. Standard library only.

The kernel's own way (reboot(2), through busybox) tells every disk to put its cache on the
medium; sysrq would not.
"""

import os
from collections.abc import Mapping
from typing import Any

from provisioner.agent.order import Link


def agree(_parameters: Mapping[str, Any], _link: Link) -> dict[str, Any]:
    """The result of both orders; the act follows when the service has it."""
    return {}


def switch_off() -> None:
    """Ends this process with the machine."""
    _end("/usr/bin/poweroff")


def restart() -> None:
    """Ends this process with the machine."""
    _end("/usr/bin/reboot")


def _end(program: str) -> None:
    import subprocess  # not before the hello: it is slow

    os.sync()
    subprocess.run([program, "-f"], stdin=subprocess.DEVNULL, check=False)
