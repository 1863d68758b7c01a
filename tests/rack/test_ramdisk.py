"""The ramdisk itself: built twice, and booted in QEMU up to its agent's answers."""

import hashlib
import random
import re
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from provisioner.errors import ErrorCode, OperatorError
from provisioner.hardware.blocks import BlockList
from provisioner.hardware.inventory import Inventory, Transport
from provisioner.hardware.nonce import medium_with
from provisioner.ramdisk.build import MOST_BYTES, build, shipped_lock, with_packages
from provisioner.ramdisk.contents import drivers
from provisioner.ramdisk.record import INITRD_FILE, KERNEL_FILE, read_record
from provisioner.ramdisk.site import site_archive
from provisioner.ramdisk.stage import Stage, unpack_all
from provisioner.ramdisk.store import fill, path_in_store
from tests.unit.agent.scripted_service import (
    SEEN_BY_GUESTS,
    TOKEN,
    ScriptedService,
    make_authority,
)

pytestmark = pytest.mark.rack

CACHE = Path.home() / ".cache" / "rackwright"
MAC = "52:54:00:00:00:01"
UUID = "6c1f7d0e-0000-4000-8000-000000000001"
NONCE = b"13 bytes long"
BUILD = """
import sys
from pathlib import Path
from provisioner.ramdisk.build import build, shipped_lock
print(build(shipped_lock(), Path(sys.argv[1]), Path(sys.argv[2])).digest)
"""


def test_kernel_and_initrd_are_small_enough_to_send(ramdisk):
    record = read_record(ramdisk)
    assert record.total_bytes() < MOST_BYTES / 2
    assert record.modules >= len(drivers())
    assert (ramdisk / KERNEL_FILE).stat().st_size == record.kernel_bytes


def test_another_folder_clock_and_locale_give_the_same_bytes(ramdisk, tmp_path):
    argv = ["/usr/bin/faketime", "-f", "+400d", sys.executable, "-c", BUILD]
    environment = {
        "PATH": "/usr/bin:/bin:/usr/sbin:/sbin",
        "TZ": "Asia/Tokyo",
        "LANG": "de_DE.UTF-8",
        "HOME": str(tmp_path),
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    cache = tmp_path / "elsewhere" / "cache"
    cache.mkdir(parents=True)
    (cache / "packages").symlink_to(CACHE / "packages")
    done = subprocess.run(
        ["/bin/sh", "-c", 'umask 077; exec "$@"', "sh", *argv, str(cache), str(tmp_path / "out")],
        env=environment,
        capture_output=True,
        timeout=300,
        check=True,
    )
    assert done.stdout.decode().strip() == read_record(ramdisk).digest


def test_a_package_that_the_archive_no_longer_has_is_named(tmp_path):
    package = replace(shipped_lock().package("hdparm"), version="0.1-gone", sha256="0" * 64)
    with pytest.raises(OperatorError, match=r"hdparm 0\.1-gone.*ramdisk update") as failed:
        fill(tmp_path, [package])
    assert failed.value.code is ErrorCode.PACKAGE_GONE


def test_a_changed_package_in_the_store_is_fetched_again(tmp_path):
    package = shipped_lock().package("pci.ids")
    fill(tmp_path, [package])
    place = tmp_path / "packages" / f"{package.sha256}.deb"
    content = place.read_bytes()
    place.write_bytes(content[:-1] + b"?")
    fill(tmp_path, [package])
    assert place.read_bytes() == content


@pytest.mark.rack_long
def test_packages_firmware_and_drivers_can_be_added(tmp_path):
    (tmp_path / "fw" / "acme").mkdir(parents=True)
    (tmp_path / "fw" / "acme" / "card.bin").write_bytes(b"firmware")
    lock = replace(shipped_lock(), compression_level=1)
    record = build(
        lock,
        CACHE,
        tmp_path / "out",
        extra_packages=["ethtool", "libmnl0"],
        extra_firmware=[tmp_path / "fw"],
        extra_drivers=["dummy"],
    )
    listing = subprocess.run(
        f"zstd -dcq {tmp_path}/out/{INITRD_FILE} | cpio -t --quiet",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.splitlines()
    assert {"usr/sbin/ethtool", "usr/lib/firmware/acme/card.bin"} <= set(listing)
    assert any(each.endswith("/dummy.ko") for each in listing)
    assert record.added[0] == "package ethtool"
    assert record.added[-1] == "driver dummy"


def test_a_program_without_its_library_is_refused(tmp_path):
    lock = with_packages(shipped_lock(), ["ethtool"])
    packages = [lock.package("libc6"), lock.package("ethtool")]
    fill(CACHE, packages)
    stage = Stage(tmp_path)
    unpack_all(stage, [path_in_store(CACHE, each) for each in packages])
    with pytest.raises(OperatorError, match=r"ethtool needs libmnl\.so\.0"):
        stage.libraries_of("usr/sbin/ethtool")


class Booted:
    """A QEMU machine that runs the ramdisk until it goes off."""

    def __init__(self, ramdisk, folder, *, arguments, orders, limit_s=180, service=None):
        authority = folder / "site.ca.pem"
        if service is None:
            make_authority(folder, "site")
        self.service = service or ScriptedService(folder / "site.pem")
        self.service.orders = [
            {"order": number, "epoch": 3, "kind": kind, "parameters": parameters}
            for number, (kind, parameters) in enumerate(orders, 1)
        ]
        url = f"https://{SEEN_BY_GUESTS}:{self.service.port}"
        initrd = folder / "both.img"
        site = site_archive(authority.read_bytes(), url)
        initrd.write_bytes((ramdisk / INITRD_FILE).read_bytes() + site)
        line = (
            f"console=ttyS0 quiet rackwright.url={url} rackwright.token={TOKEN} "
            f"rackwright.mac={MAC} rackwright.now={int(time.time())}"
        )
        self.console = self._run(ramdisk / KERNEL_FILE, initrd, line, arguments, limit_s)
        self.service.stop()

    def _run(self, kernel, initrd, line, arguments, limit_s):
        argv = [
            *("qemu-system-x86_64", "-machine", "q35,graphics=off", "-accel", "tcg"),
            *("-cpu", "qemu64", "-m", "1024", "-display", "none", "-nodefaults"),
            *("-serial", "stdio", "-no-reboot", "-uuid", UUID),
            # a clock that is years behind: certificates are not valid yet
            *("-rtc", "base=2004-02-29"),
            *("-smbios", "type=1,manufacturer=Rig,product=Server,serial=SN-1"),
            *("-netdev", "user,id=n0", "-device", f"virtio-net-pci,netdev=n0,mac={MAC}"),
            *("-kernel", str(kernel), "-initrd", str(initrd), "-append", line),
            *arguments,
        ]
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=limit_s, check=False
        )
        return done.stdout.decode(errors="replace")

    def results(self):
        return {each["order"]: each for each in self.service.results}


def drive(folder, name, size):
    path = folder / name
    path.write_bytes(b"")
    with path.open("r+b") as file:
        file.truncate(size)
    return f"file={path},format=raw,if=none,id={name}"


DISK_BYTES = 64 << 20
NVME = {"serial": "NVME-1", "wwn": None, "model": None, "bytes": DISK_BYTES}
ATA = {"serial": "ATA-1", "wwn": None, "model": None, "bytes": DISK_BYTES}
KEY = "5a" * 32
BLOCK = 4 << 20
SEED = b"seed" * 16384


def make_image(folder):
    """48 MiB with a partition table and data in two more blocks; the image and its list."""
    path = folder / "image"
    with path.open("wb") as file:
        file.truncate(48 << 20)
    table = ["sgdisk", "-n1:2048:+40M", "-t1:8304", str(path)]
    subprocess.run(table, check=True, capture_output=True)
    with path.open("r+b") as file:
        for number in (3, 7):
            file.seek(number * BLOCK + 512)
            file.write(random.Random(number).randbytes(BLOCK - 512))
    image = path.read_bytes()
    digests = {
        n: hashlib.sha256(image[n * BLOCK :][:BLOCK]).hexdigest()
        for n in range(len(image) // BLOCK)
        if image[n * BLOCK :][:BLOCK].strip(b"\0")
    }
    return image, BlockList(image_bytes=len(image), block_bytes=BLOCK, digests=digests)


def all_orders(blocks, plain, secure):
    """Every kind once, in an order in which a service might give them."""
    at = f"http://{SEEN_BY_GUESTS}:{plain.port}"
    image = {
        "disk": NVME,
        "url": f"{at}/image.raw",
        "blocks_url": f"{at}/blocks.json",
        "image_bytes": blocks.image_bytes,
        "block_bytes": BLOCK,
        "root": blocks.root,
        "logical_sector_bytes": 512,
    }
    seed = {
        "disk": NVME,
        "url": f"https://{SEEN_BY_GUESTS}:{secure.port}/agent/v1/seed",
        "sha256": hashlib.sha256(SEED).hexdigest(),
        "bytes": len(SEED),
    }
    erase = {"disks": [{"disk": ATA, "methods": ["discard", "overwrite"]}], "key": KEY}
    check = {"disk": ATA, "leaves": "zero", "turns": 2, "marks": []}
    return [
        ("inspect", {}),
        ("read_nonce", {"kind": "media"}),
        ("read_nonce", {"kind": "ipmi-sel"}),
        ("set_boot_order", {"mode": "uefi", "disk": NVME}),
        ("made up", {}),
        ("write_image", image),
        ("write_seed", seed),
        ("mark", {"disks": [ATA], "key": KEY}),
        ("erase", erase),
        ("verify", {"disks": [check], "key": KEY, "samples": 500}),
        ("power_off", {}),
    ]


@pytest.fixture(scope="module")
def bios(ramdisk, tmp_path_factory):
    folder = tmp_path_factory.mktemp("bios")
    make_authority(folder, "site")
    image, blocks = make_image(folder)
    plain, secure = ScriptedService(None), ScriptedService(folder / "site.pem")
    plain.blobs = {"/image.raw": image, "/blocks.json": blocks.to_text().encode()}
    secure.blobs = {"/agent/v1/seed": SEED}
    (folder / "nonce").write_bytes(medium_with(NONCE) + bytes(2048 * 200))
    nvme, ata = drive(folder, "nv", DISK_BYTES), drive(folder, "at", DISK_BYTES)
    (folder / "nv").write_bytes(b"\xa5" * DISK_BYTES)
    (folder / "at").write_bytes(b"tenant" * (DISK_BYTES // 6) + b"tens")
    arguments = [
        *("-drive", nvme, "-device", "nvme,drive=nv,serial=NVME-1"),
        *("-device", "ahci,id=ahci0", "-drive", ata),
        *("-device", "ide-hd,drive=at,bus=ahci0.0,serial=ATA-1"),
        *("-drive", f"file={folder}/nonce,format=raw,if=none,id=cd,media=cdrom"),
        *("-device", "ide-cd,drive=cd,bus=ahci0.1", "-device", "ide-cd,bus=ahci0.2"),
        *("-device", "ipmi-bmc-sim,id=bmc", "-device", "isa-ipmi-kcs,bmc=bmc"),
    ]
    orders = all_orders(blocks, plain, secure)
    booted = Booted(ramdisk, folder, arguments=arguments, orders=orders, service=secure)
    plain.stop()
    booted.image, booted.disks = image, {"nv": folder / "nv", "at": folder / "at"}
    return booted


def test_the_agent_says_hello_with_the_machines_facts(bios):
    facts = Inventory.from_json(bios.service.hellos[0]["facts"])
    assert (facts.system.uuid, facts.system.serial) == (UUID, "SN-1")
    assert (facts.firmware.mode, facts.nics[0].mac) == ("bios", MAC)
    found = {each.serial: each.transport for each in facts.disks}
    assert found == {"NVME-1": Transport.NVME, "ATA-1": Transport.SATA}
    assert not any(each.has_partition_table for each in facts.disks)


def test_inspect_answers_the_same_facts(bios):
    assert bios.results()[1]["result"]["facts"]["disks"] == bios.service.hellos[0]["facts"]["disks"]


def test_a_nonce_on_a_medium_is_read(bios):
    assert bios.results()[2]["result"] == {"nonce": NONCE.hex()}


def test_an_empty_event_log_is_read_as_no_nonce(bios):
    assert bios.results()[3]["result"] == {"nonce": None}
    assert "completion code 0xcb" in bios.console


def test_a_bios_machine_refuses_a_uefi_boot_order(bios):
    assert bios.results()[4]["error"]["code"] == "BOOT_DEVICE_NOT_SET"


def test_an_unknown_order_is_refused(bios):
    assert bios.results()[5]["error"]["code"] == "ORDER_UNKNOWN"


def test_an_image_and_a_seed_are_on_the_disk(bios):
    assert bios.results()[6]["ok"], bios.results()[6]["error"]
    assert bios.results()[7]["ok"], bios.results()[7]["error"]
    disk = bios.disks["nv"].read_bytes()
    # the seed step changes the table's own sectors and its partition, nothing else
    assert disk[1 << 20 : 47 << 20] == bios.image[1 << 20 : 47 << 20]
    start = bios.results()[7]["result"]["start_bytes"]
    assert disk[start : start + len(SEED)] == SEED


def test_a_disk_is_erased_and_verified(bios):
    marked, erased, verified = (bios.results()[number] for number in (8, 9, 10))
    assert marked["ok"], marked["error"]
    assert erased["ok"], erased["error"]
    assert verified["ok"], verified["error"]
    assert not bios.disks["at"].read_bytes().strip(b"\0")


def test_power_off_is_answered_before_it_is_done(bios):
    assert bios.results()[11]["ok"]
    assert "Power down" in bios.console


def test_the_console_tells_when_each_stage_was_reached(bios):
    up = [float(each) for each in re.findall(r"(?:rackwright|agent) \[([0-9.]+)\]", bios.console)]
    assert up == sorted(up)
    assert len(up) > 4


@pytest.mark.rack_long
def test_uefi_firmware_gets_the_disk_as_its_first_entry(ramdisk, tmp_path):
    disk = drive(tmp_path, "nv", 256 << 20)
    sgdisk = ["sgdisk", "-n1:2048:+64M", "-t1:ef00", "-n2:0:0", f"{tmp_path}/nv"]
    subprocess.run(sgdisk, check=True, capture_output=True)
    variables = tmp_path / "vars.fd"
    variables.write_bytes(Path("/usr/share/OVMF/OVMF_VARS_4M.fd").read_bytes())
    code = "if=pflash,format=raw,readonly=on,file=/usr/share/OVMF/OVMF_CODE_4M.fd"
    arguments = [
        *("-drive", code, "-drive", f"if=pflash,format=raw,file={variables}"),
        *("-drive", disk, "-device", "nvme,drive=nv,serial=NVME-1"),
    ]
    wanted = {"mode": "uefi", "disk": {"bytes": 256 << 20, "serial": "NVME-1"}}
    orders = [("set_boot_order", wanted), ("set_boot_order", wanted), ("power_off", {})]
    booted = Booted(ramdisk, tmp_path, arguments=arguments, orders=orders)
    first, second = booted.results()[1]["result"], booted.results()[2]["result"]
    assert (first["changed"], second["changed"]) == (True, False)
    assert "rackwright on /dev/nvme0n1 is first" in first["detail"]


@pytest.mark.rack_long
def test_a_machine_whose_token_is_refused_goes_off(ramdisk, tmp_path, monkeypatch):
    monkeypatch.setattr("tests.unit.agent.scripted_service.TOKEN", "another")
    make_authority(tmp_path, "site")
    booted = Booted(ramdisk, tmp_path, arguments=[], orders=[], limit_s=240)
    assert booted.service.hellos == []
    assert "this boot is over" in booted.console
    assert "Power down" in booted.console
