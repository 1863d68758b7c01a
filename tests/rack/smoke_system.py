"""A small system that boots over the network and says who it is: kernel, busybox, two archives."""

import shutil
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from provisioner.boot import ipxe
from provisioner.lab.layout import BLOBS_URL, PROVISIONING, SCRIPT_PORT
from provisioner.lab.namespaces import inside
from provisioner.ramdisk import build, store
from provisioner.ramdisk.cpio import archive, file_entry, folder_entry
from provisioner.ramdisk.site import site_archive

CARD = (
    "virtio_ring",
    "virtio",
    "virtio_pci_legacy_dev",
    "virtio_pci_modern_dev",
    "virtio_pci",
    "failover",
    "net_failover",
    "virtio_net",
)
"""In the order in which they need each other."""
INIT = f"""#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sysfs /sys
/bin/busybox mount -t devtmpfs devtmpfs /dev
exec </dev/null >/dev/ttyS0 2>&1
/bin/busybox --install -s /bin
for module in {" ".join(CARD)}; do insmod /$module.ko; done
ip link set lo up
ip link set eth0 up
udhcpc -q -n -t 10 -T 1 -i eth0 -s /lease > /dev/null
firmware=bios
[ -d /sys/firmware/efi ] && firmware=uefi
echo "SMOKE firmware=$firmware address=$(cat /address) site=$(cat /etc/rackwright/site.json)"
echo "SMOKE ca=$(cat /etc/rackwright/ca.pem) arguments=$(cat /proc/cmdline)"
echo "SMOKE uptime=$(cat /proc/uptime)"
while :; do sleep 1000; done
"""
LEASE = """#!/bin/busybox sh
[ "$1" = bound ] || exit 0
ip addr add $ip/24 dev eth0
ip addr add $(sed -n "s/.*smoke.tenant=\\([0-9.]*\\).*/\\1/p" /proc/cmdline)/24 dev eth0
echo $ip > /address
"""


def publish(cache, blobs):
    """Put kernel, ramdisk and the site's archive where nginx serves them."""
    folder = cache / "smoke"
    if not (folder / "vmlinuz").exists():
        _unpack_kernel(cache, folder)
    target = blobs / "ramdisk"
    target.mkdir(exist_ok=True)
    shutil.copyfile(folder / "vmlinuz", target / "vmlinuz")
    (target / "initrd.img").write_bytes(b"".join(archive(_entries(folder), date=0)))
    (target / "site.img").write_bytes(site_archive(b"THE-CA\n", "https://10.66.0.1:8443"))


def _unpack_kernel(cache, folder):
    lock = build.shipped_lock()
    package = lock.package(lock.kernel)
    store.fill(cache, [package])
    unpacked = cache / "smoke-unpacked"
    subprocess.run(["dpkg-deb", "-x", store.path_in_store(cache, package), unpacked], check=True)
    folder.mkdir(exist_ok=True)
    for name in CARD:
        (module,) = (unpacked / "lib" / "modules").rglob(f"{name}.ko")
        shutil.copyfile(module, folder / f"{name}.ko")
    (kernel,) = (unpacked / "boot").glob("vmlinuz-*")
    shutil.copyfile(kernel, folder / "vmlinuz")
    shutil.rmtree(unpacked)


def _entries(folder):
    program = Path("/bin/busybox").read_bytes()
    yield folder_entry("bin")
    yield folder_entry("dev")
    yield file_entry("bin/busybox", program, permissions=0o755)
    yield file_entry("init", INIT.encode(), permissions=0o755)
    yield file_entry("lease", LEASE.encode(), permissions=0o755)
    for name in CARD:
        yield file_entry(f"{name}.ko", (folder / f"{name}.ko").read_bytes())


class Scripts:
    """What the service does for a network boot, and no more: the script for a known MAC."""

    def __init__(self, namespace):
        self.known = {}
        self.asked = []
        scripts = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                mac = parse_qs(urlsplit(self.path).query).get("mac", [""])[0]
                scripts.asked.append(mac)
                body = scripts.known.get(mac, ipxe.shut()).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args):
                pass

        address = (str(PROVISIONING.ip), SCRIPT_PORT)
        self._server = inside(namespace, lambda: ThreadingHTTPServer(address, Handler))
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def know(self, mac, arguments):
        """Give this MAC the script that loads the small system."""
        self.known[mac] = ipxe.load(
            ipxe.Loaded(
                kernel=f"{BLOBS_URL}/ramdisk/vmlinuz",
                ramdisk=f"{BLOBS_URL}/ramdisk/initrd.img",
                site=f"{BLOBS_URL}/ramdisk/site.img",
                arguments=arguments,
            )
        )

    def close(self):
        """End the server and its thread."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
