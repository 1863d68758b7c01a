"""Run by libvirt as its hook "qemu": notes when a server came on and went off.

usage: libvirt_hook.py POWER-LOGS.json DOMAIN OPERATION SUB-OPERATION EXTRA

The JSON file maps a domain to its power log. Standard library only; it must never call libvirt,
which waits for it.
"""

import json
import sys
import time
from pathlib import Path

_EVENTS = {"started": "on", "stopped": "off"}


def main(words: list[str]) -> None:
    """One line a start and a stop; everything else is none of our business."""
    sys.stdin.read()  # the domain's definition: libvirt wants to be rid of it
    logs, domain, operation = words[:3]
    if operation not in _EVENTS:
        return
    log = Path(json.loads(Path(logs).read_text())[domain])
    line = json.dumps({"at": round(time.time(), 3), "event": _EVENTS[operation]})
    with log.open("a") as file:
        file.write(f"{line}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
