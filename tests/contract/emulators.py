"""Real controllers on the loopback: OpenIPMI's ipmi_sim, and sushy-tools with TLS."""

import base64
import datetime as dt
import hashlib
import http.client
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import time

import bcrypt
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.contract.relays import free_port

USER, PASSWORD = "admin", "s3cret"
START_S = 15.0

HOOK = """#!/bin/sh
# What ipmi_sim asks of its chassis: power and boot device are files; a file `deaf` lies.
D={folder}; echo "$*" >>$D/hook.log; verb=$1; shift
case $verb in
get) for name in "$@"; do case $name in
    power) echo "power:$(cat $D/power)";;
    boot) echo "boot:$(cat $D/boot)";;
    *) echo "$name:0";; esac; done;;
set) while [ $# -gt 0 ]; do case $1 in
    power) [ -e $D/deaf ] || {{ [ "$2" = 1 ] && [ "$(cat $D/power)" = 0 ] && {{
        cat $D/boot >>$D/booted; echo default >$D/boot; }}; echo $2 >$D/power; }};;
    shutdown) [ -e $D/deaf ] || echo 0 >$D/power;;
    boot) echo $2 >$D/boot;; esac; shift 2; done;;
esac
"""
LAN = """name "machine"
set_working_mc 0x20
  startlan 1
    addr 127.0.0.1 {port}
    priv_limit admin
    allowed_auths_callback none md2 md5 straight
    allowed_auths_user none md2 md5 straight
    allowed_auths_operator none md2 md5 straight
    allowed_auths_admin none md2 md5 straight
    guid {guid}
  endlan
  chassis_control "{folder}/hook"
  sol "tcp:127.0.0.1:{serial}" 115200 history=20000
  user 1 false "" "" user 1 none md5 straight
  user 2 true "{user}" "{password}" admin 10 none md5 straight
"""
MACHINE = """mc_setbmc 0x20
mc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02 persist_sdr
sel_enable 0x20 1000 0x0a
mc_enable 0x20
"""
# The in-memory systems of sushy-tools take 1 to 11 s at random for a power change: here none.
# Machines that take their time are the fake's part of the suite, and the rack's.
REDFISH = """import random, sys
random.randint = lambda low, high: 0
from sushy_tools.emulator.main import main
sys.exit(main())
"""


# Its template gives every drive one model and one serial number.
DRIVE = {"Id": "32ADF365C6C1B7BD", "Name": "Drive", "CapacityBytes": 1 << 40, "Protocol": "SAS"}
DRIVE_SERIAL = "1234570"
SUBSYSTEM = {
    "Id": "1",
    "Name": "Storage",
    "StorageControllers": [{"MemberId": "0", "Name": "RAID", "SpeedGbps": 12}],
    "Drives": [DRIVE["Id"]],
}


class Emulator:
    """A process that is a controller; stopped, continued and killed from outside."""

    process = None

    def start(self):
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.argv(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        end = time.monotonic() + START_S
        while not self.answers():
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < end, self.log.read_text()
            time.sleep(0.05)
        return self

    def pause(self):
        os.killpg(self.process.pid, signal.SIGSTOP)

    def go_on(self):
        os.killpg(self.process.pid, signal.SIGCONT)

    def kill(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


class IpmiSim(Emulator):
    """The machine behind it is two files, which its real hook reads and writes."""

    def __init__(self, folder, system_uuid, serial=0):
        self.folder, self.port = folder, free_port(socket.SOCK_DGRAM)
        self.log = folder / "ipmi_sim.log"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "state").mkdir(exist_ok=True)
        (folder / "hook").write_text(HOOK.format(folder=folder))
        (folder / "hook").chmod(0o755)
        self.set_power("off")
        (folder / "boot").write_text("default\n")
        lan = LAN.format(
            port=self.port,
            guid=system_uuid.replace("-", ""),
            folder=folder,
            serial=serial,
            user=USER,
            password=PASSWORD,
        )
        (folder / "lan.conf").write_text(lan)
        (folder / "machine.emu").write_text(MACHINE)

    def argv(self):
        files = ["-c", self.folder / "lan.conf", "-f", self.folder / "machine.emu"]
        return ["ipmi_sim", "-n", *files, "-s", self.folder / "state"]

    def answers(self):
        """It answers a presence ping (RMCP, ASF)."""
        ping = bytes.fromhex("06 00 ff 06 00 00 11 be 80 00 00 00")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.settimeout(0.2)
            probe.connect(("127.0.0.1", self.port))
            try:
                probe.send(ping)
                return bool(probe.recv(100))
            except OSError:
                return False

    def power(self):
        return {"0": "off", "1": "on"}[(self.folder / "power").read_text().strip()]

    def set_power(self, power):
        (self.folder / "power").write_text({"off": "0\n", "on": "1\n"}[power])

    def boot(self):
        """Its hook is told of the disk as the default."""
        return {"pxe": "network", "default": "disk"}[(self.folder / "boot").read_text().strip()]

    def be_deaf(self, deaf):
        file = self.folder / "deaf"
        file.touch() if deaf else file.unlink(missing_ok=True)

    def nonces(self):
        """OEM records of its event log, read by another client as the machine itself would."""
        found, number = [], 0
        while number != 0xFFFF:
            words = [f"{each:#04x}" for each in (0, 0, *number.to_bytes(2, "little"), 0, 0xFF)]
            to = ["-H", "127.0.0.1", "-p", str(self.port), "-U", USER, "-f", "/dev/stdin"]
            got = subprocess.run(
                ["ipmitool", "-I", "lanplus", "-C", "3", *to, "raw", "0x0a", "0x43", *words],
                input=PASSWORD.encode(),
                capture_output=True,
                check=False,
            )
            if got.returncode:
                break
            answer = bytes.fromhex(got.stdout.decode())
            number = int.from_bytes(answer[:2], "little")
            if answer[4] == 0xE0:
                found.append(answer[5:18])
        return found


class SushyEmulator(Emulator):
    """sushy-tools with its in-memory systems behind TLS and Basic authentication."""

    def __init__(self, folder, system_uuids):
        self.folder, self.port = folder, free_port()
        self.log = folder / "sushy.log"
        folder.mkdir(parents=True, exist_ok=True)
        self.certificate_sha256 = certificate(folder)
        secret = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()
        (folder / "htpasswd").write_text(f"{USER}:{secret}\n")
        systems = [
            {"uuid": each, "name": f"s{n}", "power_state": "Off", "nics": []}
            for n, each in enumerate(system_uuids)
        ]
        settings = {
            "LISTEN_IP": "127.0.0.1",
            "LISTEN_PORT": self.port,
            "SSL_CERT": str(folder / "cert.pem"),
            "SSL_KEY": str(folder / "key.pem"),
            "AUTH_FILE": str(folder / "htpasswd"),
            "STATE_DIR": str(folder / "state"),
            "FAKE_DRIVER": True,
            "FAKE_SYSTEMS": systems,
            "STORAGE": {each: [SUBSYSTEM] for each in system_uuids},
            "DRIVES": {(each, SUBSYSTEM["Id"]): [DRIVE] for each in system_uuids},
        }
        lines = [f"SUSHY_EMULATOR_{name} = {value!r}\n" for name, value in settings.items()]
        (folder / "sushy.conf").write_text("".join(lines))

    def argv(self):
        return [sys.executable, "-c", REDFISH, "--config", self.folder / "sushy.conf"]

    def answers(self):
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1.0):
                return True
        except OSError:
            return False

    def refusals(self):
        """Requests that were answered with 401, by its own log."""
        return len(re.findall(r'" 401 ', self.log.read_text()))

    def ask(self, method, path, body=None):
        """By a client of the test's own."""
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        to = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=10.0, context=context)
        secret = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        headers = {"Authorization": f"Basic {secret}", "Content-Type": "application/json"}
        try:
            to.request(method, path, None if body is None else json.dumps(body), headers)
            answer = to.getresponse()
            text = answer.read()
            return answer.status, json.loads(text) if text[:1] == b"{" else text
        finally:
            to.close()

    def system(self, system_uuid):
        return self.ask("GET", f"/redfish/v1/Systems/{system_uuid}")[1]

    def media(self, system_uuid):
        """URLs of all inserted media."""
        slots = (
            self.ask("GET", f"/redfish/v1/Systems/{system_uuid}/VirtualMedia/{slot}")[1]
            for slot in ("Cd", "Floppy")
        )
        return [slot["Image"] for slot in slots if slot["Inserted"]]


def certificate(folder, host="controller"):
    """A self-signed one in this folder, as controllers have them; its SHA-256."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=30))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    der = made.public_bytes(serialization.Encoding.DER)
    return hashlib.sha256(der).hexdigest()
