"""The images that we build, started for real with a seed that the agent's own code put on."""

import asyncio
import json
import os
import shutil
import socket
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from provisioner.adapters.process import LocalProcesses
from provisioner.agent.write_seed import place_seed
from provisioner.image.build_debian import build_debian
from provisioner.image.build_tiny import build_tiny
from provisioner.image.recipe import recipe_digest
from provisioner.lab.qemu import accelerator, has_kvm
from provisioner.seed.nocloud import compose_seed
from provisioner.seed.validate import check_seed
from provisioner.seed.volume import make_volume
from provisioner.servers.allocation import InstanceKey, InstanceRequest, TenantNetwork

MAC = "52:54:00:66:77:01"
USER_DATA = b"#cloud-config\nwrite_files:\n- {path: /run/from-user-data, content: hello}\n"
DISKS = {
    "bios": ["-device", "nvme,serial=one,drive=disk"],
    "uefi": ["-device", "ahci,id=ahci0", "-device", "ide-hd,bus=ahci0.0,drive=disk"],
}
FIRMWARE = Path("/usr/share/OVMF")


def _image(lab_paths, kind, build):
    cache = lab_paths.cache
    image = cache / "images" / f"{kind}-{recipe_digest()}.raw"
    if not image.exists():
        asyncio.run(build(LocalProcesses(), cache=cache, out=image, report=print))
    return image


@pytest.fixture(scope="session")
def tenant_key(tmp_path_factory):
    key = tmp_path_factory.mktemp("key") / "id"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    return key


def _disk(tmp_path, image, tenant_key, size):
    disk = tmp_path / "disk.raw"
    subprocess.run(["cp", "--sparse=always", image, disk], check=True)
    os.truncate(disk, size)
    network = TenantNetwork(
        nic_uuid="n",
        mac="1e:00:a1:00:01:45",
        vlan=1302,
        address="10.0.2.15",
        prefix=24,
        gateway="10.0.2.2",
        dns=("10.0.2.3",),
        mtu=1450,
    )
    request = InstanceRequest(
        key=InstanceKey(site="lab", instance="048214a2-2647-44e7-bf0c-6827a6cc7da8"),
        name="i-7-57-VM",
        who="test",
        hostname="trainer-cd2",
        ssh_keys=(tenant_key.with_suffix(".pub").read_text(),),
        user_data=USER_DATA,
        networks=(network,),
    )
    check_seed(request, ports=1)
    place_seed(str(disk), make_volume(compose_seed(request, [MAC], salt="x").files()))
    return disk


class Machine:
    def __init__(self, folder, process, port, key):
        self._folder, self._process, self._port, self._key = folder, process, port, key

    def wait_for(self, text, seconds):
        until = time.monotonic() + seconds
        while text not in self.serial():
            assert time.monotonic() < until, self.serial()[-2000:]
            assert self._process.poll() is None, self.serial()[-2000:]
            time.sleep(0.2)

    def serial(self):
        return (self._folder / "serial").read_text(errors="replace")

    def run(self, command):
        options = ["StrictHostKeyChecking=no", f"UserKnownHostsFile={self._folder}/known"]
        options += ["BatchMode=yes", "LogLevel=ERROR", "ConnectTimeout=60"]
        words = [word for option in options for word in ("-o", option)]
        argv = ["ssh", *words, "-i", self._key, "-p", str(self._port), "root@127.0.0.1", command]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=True)
        return done.stdout

    def press_power(self):
        with socket.socket(socket.AF_UNIX) as monitor:
            monitor.connect(str(self._folder / "qmp"))
            lines = monitor.makefile("rw")
            for command in ("qmp_capabilities", "system_powerdown"):
                lines.readline()
                lines.write(json.dumps({"execute": command}) + "\n")
                lines.flush()
            lines.readline()

    def ends(self, seconds):
        self._process.wait(seconds)


@contextmanager
def _running(tmp_path, disk, mode, key, memory=512):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ["qemu-system-x86_64", "-machine", "q35,graphics=off", "-nodefaults", "-no-reboot"]
    words += [*accelerator(kvm=has_kvm()), "-m", str(memory), "-display", "none"]
    words += [
        "-serial",
        f"file:{tmp_path}/serial",
        "-qmp",
        f"unix:{tmp_path}/qmp,server=on,wait=off",
    ]
    words += ["-drive", f"file={disk},format=raw,if=none,id=disk,cache=unsafe", *DISKS[mode]]
    words += ["-netdev", f"user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:{port}-:22"]
    words += ["-device", f"e1000e,netdev=net,mac={MAC},romfile="]
    if mode == "uefi":
        shutil.copy(FIRMWARE / "OVMF_VARS_4M.fd", tmp_path / "vars")
        code = f"if=pflash,format=raw,readonly=on,file={FIRMWARE}/OVMF_CODE_4M.fd"
        words += ["-drive", code, "-drive", f"if=pflash,format=raw,file={tmp_path}/vars"]
    (tmp_path / "serial").write_text("")
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL)
    try:
        yield Machine(tmp_path, process, port, key)
    finally:
        process.kill()
        process.wait()


@pytest.mark.rack
@pytest.mark.parametrize("mode", ["bios", "uefi"])
def test_the_tiny_system_reads_its_seed_takes_the_key_and_heeds_the_power_button(
    tmp_path, lab_paths, tenant_key, mode
):
    disk = _disk(tmp_path, _image(lab_paths, "tiny", build_tiny), tenant_key, 64 << 20)

    with _running(tmp_path, disk, mode, tenant_key) as machine:
        machine.wait_for("RACKWRIGHT-TINY-READY trainer-cd2", 120)
        said = machine.run(
            "hostname; ip -4 addr show eth0; cat /sys/class/net/eth0/mtu; ip route;"
            " cat /etc/resolv.conf; cat /run/user-data"
        )
        machine.press_power()
        machine.ends(60)

    assert said.startswith("trainer-cd2\n")
    assert "inet 10.0.2.15/24" in said
    assert "\n1450\n" in said
    assert "default via 10.0.2.2" in said
    assert "nameserver 10.0.2.3" in said
    assert said.endswith(USER_DATA.decode())


@pytest.mark.rack_long
def test_the_debian_image_runs_cloud_init_once_and_stays_itself_when_the_seed_is_blank(
    tmp_path, lab_paths, tenant_key
):
    disk = _disk(tmp_path, _image(lab_paths, "debian-12", build_debian), tenant_key, 3 << 30)
    ask = (
        "hostname; ip -4 addr show eth0; cat /run/from-user-data; echo; cat /etc/machine-id;"
        " lsblk -nro LABEL,PARTLABEL | grep cidata; df --output=size / | tail -1"
    )

    with _running(tmp_path, disk, "uefi", tenant_key, memory=1024) as machine:
        machine.wait_for("RACKWRIGHT-DEBIAN-READY trainer-cd2", 400)
        first = machine.run(ask).splitlines()
        machine.press_power()
        machine.ends(120)
    with _running(tmp_path, disk, "bios", tenant_key, memory=1024) as machine:
        machine.wait_for("RACKWRIGHT-DEBIAN-READY trainer-cd2", 400)
        again = machine.run(f"touch /run/from-user-data; {ask}").splitlines()

    assert first[0] == "trainer-cd2"
    assert any("inet 10.0.2.15/24" in line for line in first)
    assert "hello" in "".join(first)
    assert first[-2].strip() == "cidata"
    assert int(first[-1]) > 2_000_000
    assert again[0] == first[0]
    assert [line for line in again if len(line) == 32] == [
        line for line in first if len(line) == 32
    ]
