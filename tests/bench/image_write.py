"""How fast the agent writes an image, beside what people do by hand and beside bmaptool.

An image of 8 GiB with 1 GiB of data, HTTP on loopback, a loop device, each run onto a new sparse
file, in turn. The peers hash and flush as we do; neither reads back, and bmaptool leaves what was
in the holes. Run as a program it is the writer itself.
"""

import hashlib
import json
import random
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

from tests.bench.figure import Run, beside

IMAGE_BYTES = 8 << 30
DATA_BYTES = 1 << 30
DISK_BYTES = 9 << 30
ROUNDS = 5
LIMIT_S = 600
PEERS = {"chain": "curl, sha256sum, zstd and dd", "bmaptool": "bmaptool"}

_NGINX = """
daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log; worker_processes 1;
events {{ worker_connections 64; }}
http {{
  access_log off; sendfile on;
  client_body_temp_path {folder}/tmp; proxy_temp_path {folder}/tmp;
  fastcgi_temp_path {folder}/tmp; uwsgi_temp_path {folder}/tmp; scgi_temp_path {folder}/tmp;
  server {{ listen 127.0.0.1:{port}; root {folder}/www; }}
}}
"""


def figures():
    """Both comparisons; takes some minutes, 12 GiB below the temporary folder, and root."""
    with tempfile.TemporaryDirectory(prefix="rackwright-bench-") as name:
        folder = Path(name)
        _make_image(folder / "www")
        with _serving(folder) as url:
            chain = (
                f"curl -sf {url}/image.raw.zst | tee >(sha256sum > {folder}/digest) | zstd -dc"
                " | dd of=DEVICE bs=4M iflag=fullblock oflag=direct conv=fsync status=none"
            )
            commands = {
                "ours": [sys.executable, "-m", "tests.bench.image_write", "DEVICE", url],
                "chain": ["bash", "-o", "pipefail", "-c", chain],
                "bmaptool": ["bmaptool", "-q", "copy", "--bmap", f"{folder}/www/image.bmap",
                             f"{url}/image.raw", "DEVICE"],
            }  # fmt: skip
            taken = {each: [] for each in commands}
            for _ in range(ROUNDS):
                for each, command in commands.items():
                    taken[each].append(_time(folder / "disk.img", command))
    runs = {
        each: Run(command=" ".join(command), values=taken[each])
        for each, command in commands.items()
    }
    return [_times_as_fast(runs, "chain", 3.0), _times_as_fast(runs, "bmaptool", 1.0)]


def _times_as_fast(runs, peer, least):
    ratio = runs[peer].median / runs["ours"].median
    return beside(
        f"image write, against {PEERS[peer]}",
        "s",
        runs["ours"],
        PEERS[peer],
        runs[peer],
        ratio=ratio,
        limit=f"at least {least:g} times as fast",
        holds=ratio >= least,
    )


def _make_image(www):
    from provisioner.hardware.blocks import BLOCK_BYTES, BlockList

    www.mkdir()
    generator = random.Random(1)
    wanted = generator.sample(range(IMAGE_BYTES // BLOCK_BYTES), DATA_BYTES // BLOCK_BYTES)
    digests = {}
    with (www / "image.raw").open("wb") as file:
        file.truncate(IMAGE_BYTES)
        for number in sorted(wanted):
            # half as large when packed, as programs are
            block = b"".join(generator.randbytes(64) * 2 for _ in range(BLOCK_BYTES // 128))
            digests[number] = hashlib.sha256(block).hexdigest()
            file.seek(number * BLOCK_BYTES)
            file.write(block)
    blocks = BlockList(image_bytes=IMAGE_BYTES, block_bytes=BLOCK_BYTES, digests=digests)
    (www / "blocks.json").write_text(blocks.to_text())
    image = www / "image.raw"
    _run(["zstd", "-q", "-T0", "-3", str(image), "-o", f"{image}.zst"])
    _run(["bmaptool", "-q", "create", str(image), "-o", str(www / "image.bmap")])


@contextmanager
def _serving(folder):
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "nginx.conf").write_text(_NGINX.format(folder=folder, port=port))
    # its worker is another user
    folder.chmod(0o755)
    argv = ["nginx", "-e", f"{folder}/error.log", "-c", f"{folder}/nginx.conf"]
    server = subprocess.Popen(argv)
    try:
        url = f"http://127.0.0.1:{port}"
        _run(["curl", "-sf", "--retry", "20", "--retry-connrefused", "-o", "/dev/null",
              f"{url}/blocks.json"])  # fmt: skip
        yield url
    finally:
        server.terminate()
        server.wait(10)


def _time(disk, command):
    """Seconds of one run onto a new, empty disk."""
    disk.unlink(missing_ok=True)
    with disk.open("wb") as file:
        file.truncate(DISK_BYTES)
    _run(["sync"])
    loop = _run(["losetup", "-f", "--show", str(disk)]).decode().strip()
    try:
        began = time.monotonic()
        _run([word.replace("DEVICE", loop) for word in command])
        return time.monotonic() - began
    finally:
        _run(["losetup", "-d", loop])


def _run(argv):
    return subprocess.run(argv, stdout=subprocess.PIPE, check=True, timeout=LIMIT_S).stdout


class _Link:
    """order.Link on loopback."""

    def progress(self, done_bytes, total_bytes, *, disk="", note=""):
        pass

    def fetch(self, url, *, start=0, length=None):
        with urllib.request.urlopen(url, timeout=30) as answer:
            return answer.read()

    def journal(self, line):
        pass


def _write(device, url):
    from provisioner.agent.image_orders import ImageOrder
    from provisioner.agent.write_image import write_to
    from provisioner.wipe.orders import DiskReference

    link = _Link()
    blocks = json.loads(link.fetch(f"{url}/blocks.json"))
    order = ImageOrder(
        disk=DiskReference(serial=None, wwn=None, bytes=DISK_BYTES, model=None),
        url=f"{url}/image.raw",
        image_bytes=blocks["image_bytes"],
        block_bytes=blocks["block_bytes"],
        blocks_url=f"{url}/blocks.json",
        root=blocks["root"],
        logical_sector_bytes=512,
    )
    write_to(device, order, link)


if __name__ == "__main__":
    _write(*sys.argv[1:])
