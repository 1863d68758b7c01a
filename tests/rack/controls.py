"""The controllers of the rack as a person would use them: ipmitool, and curl to Redfish."""

import json
import subprocess

from provisioner.lab.namespaces import argv_inside
from provisioner.servers.model import ControllerProtocol


class Controls:
    """Power and boot device of one server, without any code of ours in between."""

    def __init__(self, rack, server):
        self._rack = rack
        self._server = server
        self._is_ipmi = server.protocol is ControllerProtocol.IPMI

    def power(self):
        """ "on" or "off"."""
        if self._is_ipmi:
            return self.ipmi("power", "status").split()[-1]
        return self.redfish("GET", "")["PowerState"].lower()

    def answers(self):
        """The controller takes a question."""
        try:
            return self.power() in {"on", "off"}
        except AssertionError:
            return False

    def turn(self, wanted):
        """Press the button for on or off."""
        if self._is_ipmi:
            self.ipmi("power", wanted)
        else:
            reset = {"on": "On", "off": "ForceOff"}[wanted]
            self.redfish("POST", "/Actions/ComputerSystem.Reset", {"ResetType": reset})

    def boot_from(self, device):
        """Next start from "network" or "disk"."""
        if self._is_ipmi:
            self.ipmi("chassis", "bootdev", {"network": "pxe", "disk": "disk"}[device])
        else:
            target = {"network": "Pxe", "disk": "Hdd"}[device]
            boot = {"BootSourceOverrideTarget": target, "BootSourceOverrideEnabled": "Once"}
            self.redfish("PATCH", "", {"Boot": boot})

    def ipmi(self, *words):
        """One call of ipmitool."""
        password = self._rack.paths.password(self._server)
        address = ["-H", str(self._server.controller), "-p", str(self._server.controller_port)]
        user = ["-U", self._server.user, "-f", str(password)]
        argv = ["ipmitool", "-I", "lanplus", "-C", "3", *address, *user, *words]
        return self._run(argv)

    def redfish(self, method, path, body=None):
        """One call of curl, with the controller's certificate as the only one trusted."""
        folder = self._rack.paths.server(self._server)
        password = self._rack.paths.password(self._server).read_text().strip()
        url = f"https://{self._server.controller}/redfish/v1/Systems/{self._server.uuid}{path}"
        argv = ["curl", "-sS", "-f", "--cacert", str(folder / "tls.pem"), "-K", "-", "-X", method]
        if body is not None:
            argv += ["-H", "content-type: application/json", "-d", json.dumps(body)]
        said = self._run([*argv, url], given=f'user = "{self._server.user}:{password}"\n')
        return json.loads(said) if said.strip() else {}

    def _run(self, argv, given=""):
        argv = argv_inside(self._rack.layout.rack, argv)
        ended = subprocess.run(
            argv, input=given, capture_output=True, text=True, timeout=30, check=False
        )
        assert ended.returncode == 0, ended.stderr
        return ended.stdout
