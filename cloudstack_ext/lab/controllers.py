"""What a server's controller says, asked by other tools than the service's."""

import base64
import json
import subprocess

from provisioner.lab.layout import ServerSpec
from provisioner.lab.namespaces import argv_inside
from provisioner.lab.rack import Rack
from provisioner.servers.model import ControllerProtocol

LIMIT_S = 30


def outside_power(rack: Rack, server: ServerSpec) -> str:
    """The words on or off, or what else it says."""
    if server.protocol is ControllerProtocol.IPMI:
        return _by_ipmitool(rack, server)
    return _by_curl(rack, server)


def _by_ipmitool(rack: Rack, server: ServerSpec) -> str:
    argv = [
        "ipmitool", "-I", "lanplus", "-C", "3", "-H", str(server.controller),
        "-p", str(server.controller_port), "-U", server.user,
        "-f", str(rack.paths.password(server)), "power", "status",
    ]  # fmt: skip
    said = _said(rack, argv)
    return said.strip().rpartition(" ")[2].lower() or "nothing"


def _by_curl(rack: Rack, server: ServerSpec) -> str:
    """The password goes over standard input: a process list shows arguments."""
    password = rack.paths.password(server).read_text().strip()
    token = base64.b64encode(f"{server.user}:{password}".encode()).decode()
    url = f"https://{server.controller}:{server.controller_port}/redfish/v1/Systems/{server.uuid}"
    config = f'url = "{url}"\nheader = "Authorization: Basic {token}"\ninsecure\nsilent\n'
    said = _said(rack, ["curl", "--config", "-"], given=config)
    try:
        return str(json.loads(said)["PowerState"]).lower()
    except (ValueError, KeyError):
        return f"nothing usable ({said[:80]!r})"


def _said(rack: Rack, argv: list[str], given: str = "") -> str:
    ended = subprocess.run(
        argv_inside(rack.layout.rack, argv),
        input=given,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    return ended.stdout
