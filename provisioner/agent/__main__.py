"""The agent. Started by the ramdisk's /init as `python3 -I -S -m provisioner.agent`.

Standard library only. Nothing that it receives is executed or put into a command.
"""

import contextlib
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from provisioner.agent import power
from provisioner.agent.blobs import Blobs
from provisioner.agent.boot_order import set_boot_order
from provisioner.agent.calls import Calls, Pace, RefusedError
from provisioner.agent.connection import Connections, pinned_context
from provisioner.agent.erase import erase
from provisioner.agent.facts import read_facts
from provisioner.agent.link import ServiceLink
from provisioner.agent.loop import AgentLoop
from provisioner.agent.marks import mark
from provisioner.agent.nonce import read_nonce
from provisioner.agent.order import Link, Order
from provisioner.agent.reports import Reports
from provisioner.agent.settings import AUTHORITY, SITE, AgentSettings, parse_settings
from provisioner.agent.verify import verify
from provisioner.agent.write_image import write_image
from provisioner.agent.write_seed import write_seed

_BAD_SETTINGS = 64


def inspect(_parameters: Mapping[str, Any], _link: Link) -> dict[str, Any]:
    """The order inspect: facts as they are now."""
    return {"facts": read_facts().to_json()}


ORDERS: Mapping[str, Order] = {
    "erase": erase,
    "inspect": inspect,
    "mark": mark,
    "power_off": power.agree,
    "read_nonce": read_nonce,
    "reboot": power.agree,
    "set_boot_order": set_boot_order,
    "verify": verify,
    "write_image": write_image,
    "write_seed": write_seed,
}
LAST_ACTS = {"power_off": power.switch_off, "reboot": power.restart}


def main() -> int:
    """Run until the machine goes off; a status only when it cannot begin."""
    try:
        settings = _settings()
        context = pinned_context(AUTHORITY)
    except (OSError, ValueError) as error:
        print(f"agent: cannot begin: {error}", flush=True)  # noqa: T201 the console is the log
        return _BAD_SETTINGS
    pace, connections = Pace(), Connections(context)
    calls = Calls(settings, connections, pace)
    reports = Reports(calls, pace)
    link = ServiceLink(Blobs(settings, connections, pace), reports)
    threading.Thread(target=reports.send_for_ever, name="reports", daemon=True).start()
    loop = AgentLoop(calls, reports, link, orders=ORDERS, last_acts=LAST_ACTS)
    try:
        loop.run(read_facts(), _boot_id())
    except RefusedError as error:
        print(f"agent: {error}: this boot is over", flush=True)  # noqa: T201
        power.switch_off()
    return 0


def _settings() -> AgentSettings:
    site = ""
    with contextlib.suppress(FileNotFoundError):
        site = Path(SITE).read_text(encoding="utf-8")
    return parse_settings(Path("/proc/cmdline").read_text(encoding="ascii", errors="replace"), site)


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


if __name__ == "__main__":
    sys.exit(main())
