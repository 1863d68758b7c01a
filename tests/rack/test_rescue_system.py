"""A tenant's rescue system: ordered over the provisioning network, used over the tenant's.

One machine in QEMU with three cards: the first one boots and speaks to the service, and after the
order the two others alone have addresses, one as ordered and one by DHCP. Each denial stands
beside a login that works.
"""

import base64
import hashlib
import json
import re
import socket
import subprocess
import time
from types import SimpleNamespace

import pytest

from provisioner.ramdisk.record import INITRD_FILE, KERNEL_FILE
from provisioner.ramdisk.site import site_archive
from tests.unit.agent.scripted_service import (
    SEEN_BY_GUESTS,
    TOKEN,
    ScriptedService,
    make_authority,
)

pytestmark = pytest.mark.rack

BOOTED, TENANT, ASKING = (f"52:54:00:00:00:0{number}" for number in (1, 2, 3))
ADDRESS, ROUTER = "198.51.100.20", "198.51.100.2"
LEASED, OTHER_ROUTER = "203.0.113.15", "203.0.113.2"
LIMIT_S = 600
LOOK_AGAIN_S = 0.2
TOOLS = (
    "e2fsck -V",
    "resize2fs 2>&1 | grep -q Usage",
    "tune2fs 2>&1 | grep -q Usage",
    "dumpe2fs -V",
    "fsck.fat --help",
    "xfs_repair -V",
    "btrfs --version",
    "lvm version",
    "mdadm --version",
    "cryptsetup --version",
    "blkid -V",
    "sgdisk --version",
    "nvme version",
    "python3 -c 'import ssl'",
    "vi --help",
    "less --help",
    "tar --help",
    "modprobe -a ext4 xfs btrfs vfat isofs dm_crypt dm_thin_pool raid1 raid456",
)
VOLUMES = """
set -e
modprobe loop
for name in a b c; do
  truncate -s 24M /tmp/$name
  losetup -f /tmp/$name
done
mdadm --create /dev/md0 --run --level=1 --raid-devices=2 /dev/loop0 /dev/loop1
mdadm --stop /dev/md0
mdadm --assemble /dev/md0 /dev/loop0 /dev/loop1
vgcreate tenant /dev/md0 && lvcreate -y -n data -L 8M tenant
vgchange -an tenant && vgchange -ay tenant
mke2fs /dev/tenant/data
e2fsck -fp /dev/tenant/data
echo secret > /tmp/key
cryptsetup -q luksFormat --pbkdf pbkdf2 --pbkdf-force-iterations 1000 /dev/loop2 /tmp/key
cryptsetup open --key-file /tmp/key /dev/loop2 opened
test -b /dev/mapper/opened
"""


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def make_key(folder, name):
    path = folder / name
    argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "$(reboot) of a tenant", "-f"]
    subprocess.run([*argv, str(path)], check=True)
    return path, path.with_suffix(".pub").read_text().strip()


class Machine:
    """It runs until the test presses its power button, or the fixture ends."""

    def __init__(self, folder, ramdisk, service):
        self.folder = folder
        self.tenant, self.leased, self.provisioning = free_port(), free_port(), free_port()
        url = f"https://{SEEN_BY_GUESTS}:{service.port}"
        initrd = folder / "both.img"
        site = site_archive((folder / "site.ca.pem").read_bytes(), url)
        initrd.write_bytes((ramdisk / INITRD_FILE).read_bytes() + site)
        disk = folder / "disk"
        subprocess.run(["mke2fs", "-q", "-t", "ext4", str(disk), "64M"], check=True)
        first = f"user,id=n0,hostfwd=tcp:127.0.0.1:{self.provisioning}-:22"
        place = f"net=198.51.100.0/24,host={ROUTER},dhcpstart=198.51.100.15"
        second = f"user,id=n1,{place},hostfwd=tcp:127.0.0.1:{self.tenant}-{ADDRESS}:22"
        place = f"net=203.0.113.0/24,host={OTHER_ROUTER},dhcpstart={LEASED}"
        third = f"user,id=n2,{place},hostfwd=tcp:127.0.0.1:{self.leased}-{LEASED}:22"
        line = (
            f"console=ttyS0 quiet rackwright.url={url} rackwright.token={TOKEN} "
            f"rackwright.mac={BOOTED} rackwright.now={int(time.time())}"
        )
        argv = [
            *("qemu-system-x86_64", "-machine", "q35,graphics=off", "-accel", "tcg"),
            *("-cpu", "qemu64", "-m", "1024", "-display", "none", "-nodefaults", "-no-reboot"),
            *("-serial", f"file:{folder}/console"),
            *("-qmp", f"unix:{folder}/qmp,server=on,wait=off"),
            *("-netdev", first, "-device", f"virtio-net-pci,netdev=n0,mac={BOOTED}"),
            *("-netdev", second, "-device", f"virtio-net-pci,netdev=n1,mac={TENANT}"),
            *("-netdev", third, "-device", f"virtio-net-pci,netdev=n2,mac={ASKING}"),
            *("-drive", f"file={disk},format=raw,if=none,id=d0"),
            *("-device", "virtio-blk-pci,drive=d0"),
            *("-kernel", str(ramdisk / KERNEL_FILE), "-initrd", str(initrd), "-append", line),
        ]
        self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL)
        self.service = service

    def console(self):
        path = self.folder / "console"
        return path.read_text(errors="replace") if path.exists() else ""

    def until(self, holds, what):
        end = time.monotonic() + LIMIT_S
        while not (found := holds()):
            assert time.monotonic() < end, f"no {what}:\n{self.console()[-3000:]}"
            assert self.process.poll() is None, f"ended before {what}:\n{self.console()[-3000:]}"
            time.sleep(LOOK_AGAIN_S)
        return found

    def ssh(self, key, command, *options, port=None, program="ssh"):
        argv = [
            *(program, "-F", "none", "-i", str(key), "-o", "IdentitiesOnly=yes"),
            *("-o", "BatchMode=yes", "-o", "ConnectTimeout=30"),
            *("-o", f"UserKnownHostsFile={self.folder}/known"),
            *("-o", f"Port={port or self.tenant}", *options, *command),
        ]
        return subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)

    def press_power_button(self):
        with socket.socket(socket.AF_UNIX) as monitor:
            monitor.connect(f"{self.folder}/qmp")
            for command in ("qmp_capabilities", "system_powerdown"):
                monitor.sendall(json.dumps({"execute": command}).encode())
            monitor.recv(4096)
            return self.process.wait(timeout=60)


@pytest.fixture(scope="module")
def rescued(ramdisk, tmp_path_factory):
    folder = tmp_path_factory.mktemp("rescue")
    make_authority(folder, "site")
    key, public = make_key(folder, "tenant")
    other, _ = make_key(folder, "other")
    service = ScriptedService(folder / "site.pem")
    unknown = {**NETWORK, "mac": "52:54:00:00:00:99"}
    orders = [parameters(public, networks=[unknown]), parameters(public)]
    service.orders = [
        {"order": number, "epoch": 3, "kind": "rescue", "parameters": each}
        for number, each in enumerate(orders, 1)
    ]
    machine = Machine(folder, ramdisk, service)
    try:
        machine.until(lambda: len(service.results) > 1, "result")
        machine.until(lambda: machine.console().count("rescue: ssh") > 1, "lines of the rescue")
        scanned = machine.until(lambda: scan(machine.tenant), "host key")
        known = [scanned, scanned.replace(f":{machine.tenant} ", f":{machine.leased} ")]
        (folder / "known").write_text("".join(known))
        yield SimpleNamespace(machine=machine, key=key, other=other, service=service, host=scanned)
    finally:
        machine.process.kill()
        machine.process.wait()
        service.stop()


NETWORK = {
    "mac": TENANT,
    "address": ADDRESS,
    "prefix": 24,
    "gateway": ROUTER,
    "dns": ["198.51.100.3"],
    "default": True,
    "mtu": 1400,
}
ASKED = {"address": None, "prefix": None, "gateway": None, "dns": [], "default": False, "mtu": None}


def parameters(public, **changed):
    return {
        "hostname": "web-1",
        "keys": [public],
        "networks": [NETWORK, {"mac": ASKING, **ASKED}],
    } | changed


def scan(port):
    argv = ["ssh-keyscan", "-t", "ed25519", "-p", str(port), "127.0.0.1"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    return done.stdout


def fingerprint(scanned):
    content = base64.b64decode(scanned.split()[-1])
    digest = base64.b64encode(hashlib.sha256(content).digest()).decode()
    return f"SHA256:{digest.rstrip('=')}"


def inside(rescued, command):
    done = rescued.machine.ssh(rescued.key, ["root@127.0.0.1", command])
    assert done.returncode == 0, done
    return done.stdout


def test_a_card_that_the_machine_lacks_fails_the_order_and_the_next_one_is_done(rescued):
    failed, done = rescued.service.results[:2]
    assert failed["error"]["code"] == "FACTS_DIFFER"
    assert done["ok"], done["error"]


def test_the_host_key_is_the_one_that_was_answered_and_shown(rescued):
    answered = rescued.service.results[1]["result"]["host_key"]
    assert fingerprint(rescued.host) == answered
    lines = [each for each in rescued.machine.console().splitlines() if "rescue: ssh" in each]
    assert sorted(lines) == [
        f"rackwright rescue: ssh root@{each}, host key {answered}" for each in (ADDRESS, LEASED)
    ]


def test_the_instances_key_logs_in_and_finds_its_name_and_network(rescued):
    said = inside(rescued, "hostname; pwd; ip -4 -o addr; ip route; cat /etc/resolv.conf")
    assert said.splitlines()[:2] == ["web-1", "/root"]
    assert f"{ADDRESS}/24" in said
    assert re.search(rf"^default via {ROUTER} dev eth1 *$", said, re.MULTILINE)
    assert "nameserver 198.51.100.3" in said
    assert "mtu 1400" in inside(rescued, "ip link show dev eth1")


def test_a_network_without_addresses_was_asked_for_one_and_its_router_comes_second(rescued):
    done = rescued.machine.ssh(
        rescued.key, ["root@127.0.0.1", "ip -4 -o addr; ip route"], port=rescued.machine.leased
    )
    assert f"{LEASED}/24" in done.stdout
    assert re.search(
        rf"^default via {OTHER_ROUTER} dev eth2 +metric 1\d\d", done.stdout, re.MULTILINE
    )


def test_nothing_is_left_in_the_provisioning_network(rescued):
    assert "10.0.2." not in inside(rescued, "ip addr; ip route; ip neigh; cat /proc/net/arp")
    assert scan(rescued.machine.tenant)
    assert not scan(rescued.machine.provisioning)
    calls = len(rescued.service.seen)
    time.sleep(2)
    assert len(rescued.service.seen) == calls


def test_no_agent_and_no_disk_of_the_tenants_is_in_use(rescued):
    processes = inside(rescued, "ps -o pid,args")
    assert "dropbear" in processes
    assert "python" not in processes
    asking = [each for each in processes.splitlines() if "udhcpc" in each]
    assert [" -i eth2 " in each for each in asking] == [True]
    assert "/dev/" not in inside(
        rescued, "grep -v -e ^devpts -e ^devtmpfs /proc/mounts | cut -d' ' -f1"
    )
    assert "vda" in inside(rescued, "lsblk")
    assert (
        inside(rescued, "ls -A /etc/rackwright /run/address 2>&1; true").count("No such file") == 2
    )


def test_another_key_is_refused(rescued):
    refused = rescued.machine.ssh(rescued.other, ["root@127.0.0.1", "true"])
    assert refused.returncode == 255
    assert "Permission denied (publickey)" in refused.stderr


def test_a_password_is_never_asked_for(rescued):
    options = ("-o", "PreferredAuthentications=password,keyboard-interactive", "-o", "BatchMode=no")
    options += ("-o", "NumberOfPasswordPrompts=1")
    refused = rescued.machine.ssh(rescued.key, ["root@127.0.0.1", "true"], *options)
    assert refused.returncode == 255
    assert "Permission denied (publickey)" in refused.stderr


def test_the_tools_are_there(rescued):
    tried = "; ".join(
        f"({each}) > /tmp/said 2>&1 || (echo {each!r}; cat /tmp/said)" for each in TOOLS
    )
    assert not inside(rescued, tried)


def test_raid_volumes_and_encryption_come_up_without_a_device_manager(rescued):
    inside(rescued, VOLUMES)


def test_a_terminal_and_a_login_shell_are_given(rescued):
    done = rescued.machine.ssh(rescued.key, ["-tt", "root@127.0.0.1", "tty; echo $PATH"])
    assert "/dev/pts/" in done.stdout
    assert "/usr/sbin:/usr/bin" in done.stdout


def test_a_file_goes_in_and_out_by_scp(rescued):
    sent, back = rescued.machine.folder / "sent", rescued.machine.folder / "back"
    sent.write_bytes(b"tenant's" * 4096)
    for pair in (
        (str(sent), "root@127.0.0.1:/root/kept"),
        ("root@127.0.0.1:/root/kept", str(back)),
    ):
        done = rescued.machine.ssh(rescued.key, pair, program="scp")
        assert done.returncode == 0, done
    assert back.read_bytes() == sent.read_bytes()


def test_the_tenant_may_mount_and_mend_a_disk(rescued):
    said = inside(
        rescued,
        "e2fsck -fp /dev/vda && mkdir -p /mnt && mount /dev/vda /mnt"
        " && echo mended > /mnt/word && grep vda /proc/mounts",
    )
    assert "/dev/vda /mnt ext4 rw" in said


def test_the_power_button_unmounts_and_switches_off(rescued):
    """The last of the module: what a controller's graceful off does to it."""
    assert rescued.machine.press_power_button() == 0
    disk = rescued.machine.folder / "disk"
    checked = subprocess.run(
        ["dumpe2fs", "-h", str(disk)], capture_output=True, text=True, check=True
    ).stdout
    assert "Filesystem state:         clean" in checked
    assert "needs_recovery" not in checked
    read = ["debugfs", "-R", "cat /word", str(disk)]
    assert subprocess.run(read, capture_output=True, text=True, check=True).stdout == "mended\n"
