"""The order read_nonce: what the service left in the controller, read from inside the machine.

Standard library only.
"""

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from provisioner.agent.commands import output_of
from provisioner.agent.controller import InBandController
from provisioner.agent.facts import KernelTree
from provisioner.agent.order import Link, OrderFailedError
from provisioner.hardware import ipmi
from provisioner.hardware.disks import transport_of
from provisioner.hardware.inventory import Transport
from provisioner.hardware.nonce import MEDIUM_BYTES, nonce_in_record, nonce_on_medium

_MOST_RECORDS = 8192
"""The largest logs of today's controllers hold some thousand."""
_DRIVER_WITHIN_S = 3.0
_WITHIN_S = 10.0
_LOOK_AGAIN_S = 0.5


def read_nonce(parameters: Mapping[str, Any], link: Link) -> dict[str, Any]:
    """Hex of the newest nonce there, or None."""
    match parameters.get("kind"):
        case "ipmi-sel":
            found = _from_log(link)
        case "media":
            found = _from_media()
        case _:
            raise OrderFailedError("ORDER_MALFORMED", "read_nonce knows ipmi-sel and media")
    return {"nonce": None if found is None else found.hex()}


def _from_log(link: Link) -> bytes | None:
    try:
        _load_driver()
        with InBandController() as controller:
            return _newest(controller)
    except (OSError, ValueError, ipmi.ControllerRefusedError) as error:
        # no controller in band, or an empty log: the service decides what that means
        link.journal(f"event log of the controller: {error}")
        return None


def _newest(controller: InBandController) -> bytes | None:
    newest, number = None, ipmi.FIRST_RECORD
    for _ in range(_MOST_RECORDS):
        answer = controller.ask(ipmi.STORAGE, ipmi.GET_ENTRY, ipmi.entry_request(number))
        entry = ipmi.parse_entry(answer)
        newest = nonce_in_record(entry.record) or newest
        if entry.following == ipmi.LAST_RECORD:
            break
        number = entry.following
    return newest


def _load_driver() -> None:
    """Firmware that describes its controller had it loaded at start; other boards are probed."""
    if not Path("/dev/ipmi0").exists():
        output_of(["/usr/sbin/modprobe", "-a", "ipmi_si", "ipmi_ssif", "ipmi_devintf"], limit_s=30)
        until = time.monotonic() + _DRIVER_WITHIN_S
        while not Path("/dev/ipmi0").exists() and time.monotonic() < until:
            time.sleep(_LOOK_AGAIN_S)


def _from_media() -> bytes | None:
    """Look at every optical or USB medium; one that was just inserted takes a while to show."""
    until = time.monotonic() + _WITHIN_S
    while True:
        tree = KernelTree()
        for name in tree.names("block"):
            if transport_of(tree, name) in {Transport.OPTICAL, Transport.USB}:
                found = _on(name)
                if found is not None:
                    return found
        if time.monotonic() >= until:
            return None
        time.sleep(_LOOK_AGAIN_S)


def _on(name: str) -> bytes | None:
    try:
        file = os.open(f"/dev/{name}", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None  # no medium in the drive
    try:
        return nonce_on_medium(os.pread(file, MEDIUM_BYTES, 0))
    except OSError:
        return None
    finally:
        os.close(file)
