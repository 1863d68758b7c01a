"""The agent. Started by the ramdisk's /init as `python3 -I -S -m provisioner.agent`.

Standard library only. Nothing that it receives is executed or put into a command.
"""

import contextlib
import importlib
import sys
import threading
from collections.abc import Mapping
from typing import Any

from provisioner.agent import power
from provisioner.agent.blobs import Blobs
from provisioner.agent.calls import Calls, Pace, RefusedError
from provisioner.agent.connection import Connections, pinned_context
from provisioner.agent.facts import read_facts, read_text
from provisioner.agent.link import ServiceLink
from provisioner.agent.loop import AgentLoop
from provisioner.agent.order import Link, Order
from provisioner.agent.reports import Reports
from provisioner.agent.settings import AUTHORITY, SITE, AgentSettings, parse_settings

_BAD_SETTINGS = 64


def inspect(_parameters: Mapping[str, Any], _link: Link) -> dict[str, Any]:
    """The order inspect: facts as they are now."""
    return {"facts": read_facts().to_json()}


LATE = {
    "erase": ("erase", "erase"),
    "mark": ("marks", "mark"),
    "read_nonce": ("nonce", "read_nonce"),
    "rescue": ("rescue", "rescue"),
    "set_boot_order": ("boot_order", "set_boot_order"),
    "verify": ("verify", "verify"),
    "write_image": ("write_image", "write_image"),
    "write_seed": ("write_seed", "write_seed"),
}
"""Kind -> module and function. Imported when they are asked for.

A third of the time from /init to the agent's hello would be imports that no hello needs.
"""


def late(module: str, function: str) -> Order:
    """The order of that name in that module."""

    def order(parameters: Mapping[str, Any], link: Link) -> dict[str, Any]:
        found: Order = getattr(importlib.import_module(f"provisioner.agent.{module}"), function)
        return found(parameters, link)

    return order


ORDERS: Mapping[str, Order] = {
    "inspect": inspect,
    "power_off": power.agree,
    "reboot": power.agree,
    **{kind: late(*place) for kind, place in LATE.items()},
}


def begin_rescue() -> None:
    """The last act of the order rescue: this process ends, and /init goes on with its status."""
    importlib.import_module("provisioner.agent.rescue").begin()


LAST_ACTS = {"power_off": power.switch_off, "reboot": power.restart, "rescue": begin_rescue}


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
        site = read_text(SITE)
    return parse_settings(read_text("/proc/cmdline"), site)


def _boot_id() -> str:
    return read_text("/proc/sys/kernel/random/boot_id").strip()


if __name__ == "__main__":
    sys.exit(main())
