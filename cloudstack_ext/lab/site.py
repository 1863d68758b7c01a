"""The lab as one site: the rack, a configured service on it, images, a pool, its servers."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from cloudstack_ext.lab.instances import InstanceNumbers
from provisioner.errors import ErrorCode, OperatorError
from provisioner.lab.layout import (
    BLOBS_URL,
    HTTPS_PORT,
    LEASES,
    PROVISIONING,
    PROVISIONING_BRIDGE,
    SCRIPT_PORT,
    SERVICE_UID,
    LabPaths,
    Layout,
    ServerSpec,
)
from provisioner.lab.probes import wait_for_socket
from provisioner.lab.rack import Rack
from provisioner.lab.services import ServiceStart, start_service, stop_service
from provisioner.ramdisk.build import build, shipped_lock

Say = Callable[[str], None]

SITE, POOL = "lab", "a"
OPERATORS_PORT = 8444
"""Of the operators' listener over TLS, with tokens; the certificate is for this address."""
IMAGES = {"ubuntu-24.04-cuda": "tiny", "tiny": "tiny"}
"""Names that the pool's map knows from the beginning; the first is the recordings'."""
DEBIAN = "debian-12"
ROOT = Path(__file__).parents[2]
START_S = 30.0
TIMES: Mapping[str, float] = MappingProxyType({"proof_settle_s": 45})
"""The rack's machines are up within half a minute; a real board needs longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabSite:
    """All steps are safe to repeat: what is there stays.

    Attributes:
        say: Told one line a stage, with its seconds.
        times: The service's times that are not its defaults.
    """

    rack: Rack
    say: Say
    times: Mapping[str, float] = field(default_factory=lambda: TIMES)

    @classmethod
    def of(cls, environ: Mapping[str, str], say: Say) -> "LabSite":
        """Below the user's cache folder."""
        rack = Rack(Layout(), LabPaths.of(environ), say=lambda line: say(f"  {line}"))
        return cls(rack=rack, say=say)

    @property
    def name(self) -> str:
        """Of the CloudStack that it stands for."""
        return SITE

    def up(self) -> None:
        """Rack and service run, both servers are enrolled and on their way to AVAILABLE."""
        self.ready()
        with self.stage("servers"):
            self.enrol()

    def ready(self) -> None:
        """The same with no server enrolled yet."""
        with self.stage("rack"):
            self.rack.up()
        with self.stage("ramdisk"):
            self.ramdisk()
        with self.stage("keys and configuration"):
            self.configure()
        with self.stage("service"):
            self.serve()
        with self.stage("image tiny"):
            self.image("tiny")
        with self.stage("pool"):
            self.pool(IMAGES)

    def down(self) -> None:
        """Nothing is left running."""
        self.rack.down()

    @property
    def config(self) -> Path:
        """The service's configuration."""
        return self.rack.paths.service / "rackwright.toml"

    @property
    def entry_config(self) -> Path:
        """The entry's: belongs to whoever runs it, here us."""
        return self.rack.paths.state / "entry.conf"

    @property
    def operators(self) -> Path:
        """The operators' socket."""
        return self.rack.paths.service / "operators.sock"

    @property
    def numbers(self) -> InstanceNumbers:
        """Of the instances that this lab has seen."""
        return InstanceNumbers(self.rack.paths.state / "instances.jsonl")

    def entry(self) -> tuple[str, ...]:
        """The argv before a verb, configuration included."""
        program = ROOT / "cloudstack_ext" / "entry" / "rackwright-entry"
        return ("/usr/bin/env", f"RACKWRIGHT_ENTRY_CONFIG={self.entry_config}", str(program))

    def ramdisk(self) -> None:
        """Built once for each lock, then copied to where nginx serves it."""
        lock = shipped_lock()
        sources = _digest_of("agent", "hardware", "wipe", "ramdisk")
        kept = self.rack.paths.cache / "ramdisk" / f"{lock.digest()[:16]}-{sources}"
        if not (kept / "ramdisk.json").exists():
            self.say("  building the ramdisk from its lock (kept for the next time)")
            build(lock, self.rack.paths.cache, kept)
        served = self.rack.paths.blobs / "ramdisk"
        served.mkdir(parents=True, exist_ok=True)
        for file in kept.iterdir():
            if not (served / file.name).exists() or file.name == "ramdisk.json":
                shutil.copyfile(file, served / file.name)
        _give_to_service(served)

    def configure(self) -> None:
        """Configuration and keys of the service, and of the entry."""
        folder = self.rack.paths.service
        self.config.write_text(self._settings())
        if not (folder / "secrets.key").exists():
            self.command("init", "--output", "json")
        _give_to_service(folder)
        self.entry_config.touch(mode=0o600)
        self.entry_config.write_text(f"socket = {folder / 'extension.sock'}\n")

    def serve(self) -> None:
        """The service as its unit starts it."""
        start_service(
            self.rack.layout,
            self.rack.paths,
            self.rack.record,
            self.service_start(),
            environ=self._environ(),
        )
        for socket in (self.operators, Path(self.service_start().extension)):
            wait_for_socket(socket, what="the service", within_s=START_S)

    def stop_serving(self) -> None:
        """End it cleanly."""
        stop_service(self.rack.record)

    def service_start(self) -> ServiceStart:
        """How it is started, and what `lab status` says of it."""
        folder = self.rack.paths.service
        argv = (sys.executable, "-m", "cloudstack_ext.main", "serve", "--config", str(self.config))
        return ServiceStart(
            argv=argv,
            readable=(str(ROOT), sys.prefix),
            extension=str(folder / "extension.sock"),
            operators=str(self.operators),
            operators_url=f"https://{PROVISIONING.ip}:{OPERATORS_PORT}",
            provisioning_url=f"https://{PROVISIONING.ip}:{HTTPS_PORT}",
            ca=str(folder / "ca.pem"),
            database=str(folder / "rackwright.db"),
            entry=self.entry(),
            evidence_key=str(folder / "evidence.pub"),
        )

    def image(self, name: str) -> None:
        """Built once, imported once."""
        if name in {each["name"] for each in self.ask("image", "list")["images"]}:
            return
        made_by = _digest_of("image", "ramdisk", "hardware")
        raw = self.rack.paths.cache / "images" / f"{name}-{made_by}.raw"
        if not raw.exists():
            self.say(f"  building the image {name} (kept for the next time)")
            raw.parent.mkdir(parents=True, exist_ok=True)
            cache = str(self.rack.paths.cache)
            self.command("image", "build", name, "--out", str(raw), "--cache", cache)
        self.command("image", "import", str(raw), "--name", name)

    def debian(self) -> None:
        """The image with cloud-init, imported and known to the pool."""
        with self.stage(f"image {DEBIAN}"):
            self.image(DEBIAN)
        self.pool({**IMAGES, DEBIAN: DEBIAN})

    def pool(self, images: Mapping[str, str]) -> None:
        """The one pool; where it has these names of images, what somebody set in it stays."""
        there = {each["name"]: each["images"] for each in self.ask("pool", "list")["pools"]}
        if POOL in there and images.items() <= there[POOL].items():
            return
        words = [word for name, image in images.items() for word in ("--image", f"{name}={image}")]
        self.command("pool", "put", POOL, *words)

    def enrol(self) -> None:
        """Both servers, unless they are known."""
        known = {each["name"] for each in self.ask("server", "list")["servers"]}
        fresh = [each for each in self.rack.layout.servers if each.name not in known]
        if fresh:
            self.command("server", "enrol", str(self.manifest(fresh)))

    def manifest(self, servers: Iterable[ServerSpec]) -> Path:
        """A file that enrols them."""
        path = self.rack.paths.state / "servers.yaml"
        path.write_text(json.dumps({"version": 1, "servers": [self._entry(s) for s in servers]}))
        return path

    def ask(self, *words: str) -> Any:  # noqa: ANN401 as wide as JSON is
        """One `rackwright` command that answers JSON."""
        return json.loads(self.command(*words, "--output", "json"))

    def command(self, *words: str) -> str:
        """One `rackwright` command, as an operator types it.

        Raises:
            OperatorError: LAB, with its own line.
        """
        argv = [sys.executable, "-m", "cloudstack_ext.main", *words]
        ended = subprocess.run(
            argv, capture_output=True, text=True, check=False, env=self._environ(), cwd=ROOT
        )
        if ended.returncode not in {0, 2}:
            line = (ended.stderr.strip() or ended.stdout.strip()).splitlines()[-1:]
            raise OperatorError(
                ErrorCode.LAB, f"rackwright {' '.join(words)}: {''.join(line)}", ended.stderr
            )
        return ended.stdout

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """One line with its seconds."""
        began = time.monotonic()
        yield
        self.say(f"{name:<34} {time.monotonic() - began:6.1f} s")

    def _environ(self) -> dict[str, str]:
        return {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "PYTHONDONTWRITEBYTECODE": "1",
            "RACKWRIGHT_CONFIG": str(self.config),
            "RACKWRIGHT_SOCKET": str(self.operators),
        }

    def _entry(self, server: ServerSpec) -> dict[str, Any]:
        return {
            "name": server.name,
            "pool": POOL,
            "firmware": server.firmware.value,
            "controller": {
                "protocol": server.protocol.value,
                "address": str(server.controller),
                "port": server.controller_port,
                "user": server.user,
                "password_file": str(self.rack.paths.password(server)),
            },
            "nics": [{"mac": server.mac, "roles": ["provisioning", "tenant"], "port": server.tap}],
            "root_disk": {"serial": server.disks[0].serial},
            "console": "ttyS0",
        }

    def _settings(self) -> str:
        paths, folder = self.rack.paths, self.rack.paths.service
        times = "\n".join(f"{name} = {seconds}" for name, seconds in self.times.items())
        return f"""# The lab's configuration; written at each start.
version = 1

[service]
state_dir = "{folder}"

[extension]
socket = "{folder}/extension.sock"
sites = [{{ name = "{SITE}", uids = [{os.getuid()}] }}]

[operators]
socket = "{self.operators}"
uids = [{{ uid = {os.getuid()}, name = "lab", role = "admin" }}]
https = {{ address = "{PROVISIONING.ip}", port = {OPERATORS_PORT} }}

[provisioning]
address = "{PROVISIONING.ip}"
network = "{PROVISIONING.network}"
range = ["{LEASES[0]}", "{LEASES[1]}"]
blobs_url = "{BLOBS_URL}"
blobs_dir = "{paths.blobs}"
https_port = {HTTPS_PORT}
http_port = {SCRIPT_PORT}
router_advertisements = true

[boot]
hosts_dir = "{paths.hosts}"
dnsmasq_log = "{paths.dhcp_log}"
tftp_dir = "{paths.tftp}"
interface = "{PROVISIONING_BRIDGE}"

[ports]
adapter = "rack"
namespace = "{self.rack.layout.rack}"

[times]
{times}

[release]
# the rack is played with: nobody waits an hour for its fifth wipe
at_most_per_hour = 1000
"""


def _digest_of(*folders: str) -> str:
    """Of the sources that made something which is kept: other sources, another one."""
    made = hashlib.sha256()
    for folder in folders:
        for file in sorted((ROOT / "provisioner" / folder).rglob("*")):
            if file.is_file() and file.suffix != ".pyc":
                made.update(file.name.encode() + file.read_bytes())
    return made.hexdigest()[:16]


def _give_to_service(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        os.chown(path, SERVICE_UID, SERVICE_UID, follow_symlinks=False)
