"""A server behind a real Redfish service: sushy-emulator over a libvirt domain."""

import sys
from pathlib import Path

import bcrypt

from provisioner.lab.commands import run
from provisioner.lab.layout import LabPaths, Layout, ServerSpec
from provisioner.lab.libvirt_daemon import POOL, URI, same_view
from provisioner.lab.libvirt_domain import OVMF_CODE
from provisioner.lab.namespaces import argv_inside
from provisioner.lab.processes import Record

_SEABIOS = "/usr/share/seabios/bios-256k.bin"
_CERTIFICATE = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650"


def process_name(server: ServerSpec) -> str:
    """Under which its sushy-emulator is on record."""
    return f"sushy-emulator-{server.name}"


def up(layout: Layout, paths: LabPaths, record: Record, server: ServerSpec) -> None:
    """Start the Redfish service of one server: TLS, Basic authentication, its own address."""
    folder = paths.server(server)
    _make_certificate(folder, server)
    password = paths.password(server).read_text().strip()
    users = folder / "htpasswd"
    if not users.exists():
        users.touch(mode=0o600)
        digest = bcrypt.hashpw(password.encode(), bcrypt.gensalt(5)).decode()
        users.write_text(f"{server.user}:{digest}\n")
    (folder / "state").mkdir(exist_ok=True)
    settings = folder / "sushy.conf"
    settings.write_text(_sushy(server, folder))
    emulator = str(Path(sys.executable).with_name("sushy-emulator"))
    argv = [*same_view(record), emulator, "--config", str(settings)]
    record.start(process_name(server), argv_inside(layout.rack, argv))


def _make_certificate(folder: Path, server: ServerSpec) -> None:
    """Signed by itself, as controllers come from the factory: enrolment pins it."""
    certificate, key = folder / "tls.pem", folder / "tls.key"
    if certificate.exists() and key.exists():
        return
    names = ["-subj", f"/CN={server.name}", "-addext", f"subjectAltName=IP:{server.controller}"]
    files = ["-keyout", str(key), "-out", str(certificate)]
    run(["openssl", *_CERTIFICATE.split(), *names, *files])


def _sushy(server: ServerSpec, folder: Path) -> str:
    settings = {
        "LISTEN_IP": str(server.controller),
        "LISTEN_PORT": server.controller_port,
        "SSL_CERT": str(folder / "tls.pem"),
        "SSL_KEY": str(folder / "tls.key"),
        "AUTH_FILE": str(folder / "htpasswd"),
        "LIBVIRT_URI": URI,
        "STATE_DIR": str(folder / "state"),
        "STORAGE_POOL": POOL,
        # one system a controller, as on a server board
        "ALLOWED_INSTANCES": [str(server.uuid)],
        "BOOT_LOADER_MAP": {"UEFI": {"x86_64": OVMF_CODE}, "Legacy": {"x86_64": _SEABIOS}},
        "VMEDIA_VERIFY_SSL": False,
        # a list of drives without one: each that it could name has the serial 1234570
        "STORAGE": {str(server.uuid): []},
    }
    return "".join(f"SUSHY_EMULATOR_{name} = {value!r}\n" for name, value in settings.items())
