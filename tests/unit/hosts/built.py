"""A host's texts put together piece by piece, as `collect.sh` would bring them.

`good_host` is one that nothing is found on; tests change one thing and look at what is found.
"""

import gzip
import io
import tarfile
from pathlib import Path

from provisioner.hosts.bundle import read_bundle
from provisioner.hosts.facts import Way
from provisioner.hosts.findings import findings_of
from provisioner.hosts.reading import read_facts

BUNDLES = Path(__file__).parents[2] / "data" / "bundles"
DEVICES = "/sys/bus/pci/devices"
HEAD = "rackwright-host-bundle 1\ntaken_at 1796000000\nuid 0\n"
GPU = "0000:17:00.0"
PORT = "0000:16:01.0"
DISK = "0000:03:00.0"
NIC = "0000:04:00.0"
CONSOLE = "0000:02:00.0"
GIB = 2**30
FLAGS = {"memory": 0x40200, "wide": 0x14220C, "ports": 0x40101}
PCI_FACTS = {
    "revision": "0xa1",
    "subsystem_vendor": "0x0000",
    "subsystem_device": "0x0000",
    "driver_override": "(null)",
    "reset_method": "flr bus",
    "numa_node": "0",
    "power_state": "D0",
    "d3cold_allowed": "1",
}
AER = {
    "aer_dev_correctable": "RxErr 0\nBadTLP 0\nTOTAL_ERR_COR 0",
    "aer_dev_nonfatal": "DLP 0\nTOTAL_ERR_NONFATAL 0",
    "aer_dev_fatal": "DLP 0\nTOTAL_ERR_FATAL 0",
}
LINK = {
    "current_link_speed": "32.0 GT/s PCIe",
    "current_link_width": "16",
    "max_link_speed": "32.0 GT/s PCIe",
    "max_link_width": "16",
}
NAMES = {
    "0600": "Host bridge",
    "0604": "PCI bridge",
    "0300": "VGA compatible controller",
    "0302": "3D controller",
    "0380": "Display controller",
    "1200": "Processing accelerators",
    "0108": "Non-Volatile memory controller",
    "0200": "Ethernet controller",
    "0403": "Audio device",
    "0c03": "USB controller",
    "0680": "Bridge",
    "0b40": "Co-processor",
}


def bar_lines(*bars):
    """`resource` of a function: (start, bytes, kind) each; kind of FLAGS."""
    lines = [
        f"0x{start:016x} 0x{start + size - 1:016x} 0x{FLAGS[kind]:016x}"
        for start, size, kind in bars
    ]
    return "\n".join([*lines, *(["0x" + "0" * 16 + (" 0x" + "0" * 16) * 2] * (13 - len(lines)))])


class BuiltHost:
    """Files, links and commands of one host; each may be changed before it is packed."""

    def __init__(self):
        self.head = HEAD
        self.files, self.links, self.commands, self.status, self.errors = {}, {}, {}, {}, {}
        self.lspci = {}

    def pci(
        self,
        address,
        kind,
        ids,
        name,
        *,
        bridges=(),
        root=None,
        driver=None,
        group=None,
        caps="",
        **files,
    ):
        """One function; files are those of its folder, None leaves one out."""
        root = root or f"pci{address[:7]}"
        place = "/".join([root, *bridges, address])
        vendor, device = ids.split(":")
        facts = {
            "class": f"0x{kind}{'00' if len(kind) == 4 else ''}",
            "vendor": f"0x{vendor}",
            "device": f"0x{device}",
        }
        for key, value in {**PCI_FACTS, **facts, **files}.items():
            if value is not None:
                self.files[f"{DEVICES}/{address}/{key}"] = f"{value}\n"
        self.links[f"{DEVICES}/{address}"] = f"../../../devices/{place}"
        if driver:
            self.links[f"{DEVICES}/{address}/driver"] = (
                f"{'../' * (3 + len(bridges))}bus/pci/drivers/{driver}"
            )
        if group is not None:
            self.links[f"{DEVICES}/{address}/iommu_group"] = f"/sys/kernel/iommu_groups/{group}"
        words = NAMES.get(kind[:4], "System peripheral")
        below = [f"\tKernel driver in use: {driver}"] if driver else []
        below = [*(f"\t{line}" for line in caps.splitlines()), *below]
        self.lspci[address] = "\n".join(
            [f"{address} {words} [{kind[:4]}]: {name} [{ids}] (rev a1)", *below]
        )

    def set(self, address, **files):
        """Other files of a function that is there; None takes one away."""
        for key, value in files.items():
            path = f"{DEVICES}/{address}/{key}"
            if value is None:
                self.files.pop(path, None)
            else:
                self.files[path] = f"{value}\n"

    def rebind(self, address, driver):
        """To another driver, or to none."""
        link = f"{DEVICES}/{address}/driver"
        self.links.pop(link, None)
        lines = [each for each in self.lspci[address].split("\n") if "Kernel driver" not in each]
        if driver:
            self.links[link] = f"../../../../bus/pci/drivers/{driver}"
            lines.append(f"\tKernel driver in use: {driver}")
        self.lspci[address] = "\n".join(lines)

    def group(self, address, number):
        """Into another IOMMU group."""
        self.links[f"{DEVICES}/{address}/iommu_group"] = f"/sys/kernel/iommu_groups/{number}"

    def rename(self, address, old, new):
        """What lspci says of a function."""
        assert old in self.lspci[address]
        self.lspci[address] = self.lspci[address].replace(old, new)

    def line(self, words):
        """More words of the kernel's command line."""
        self.files["/proc/cmdline"] = self.files["/proc/cmdline"].rstrip("\n") + f" {words}\n"

    def log(self, text):
        """A line of the kernel's log."""
        self.commands["kernel-log"] = self.commands.get("kernel-log", "") + f"{text}\n"

    def texts(self):
        """Member -> content, as in a bundle."""
        commands = dict(self.commands)
        if self.lspci:
            commands["lspci"] = "\n\n".join(self.lspci.values()) + "\n"
        listing = "".join(f"==> {path} <==\n{text}\n" for path, text in self.files.items())
        links = "".join(f"{path} -> {target}\n" for path, target in self.links.items())
        found = {"bundle": self.head, "files/all": listing, "links/all": links}
        found |= {f"commands/{name}": text for name, text in commands.items()}
        found |= {f"commands/{name}.status": f"{text}\n" for name, text in self.status.items()}
        return found | {f"commands/{name}.errors": text for name, text in self.errors.items()}

    def packed(self):
        """As a file."""
        return packed(self.texts())

    def facts(self):
        """Read."""
        return read_facts(read_bundle(self.packed(), source="built"), way=Way.BUNDLE)

    def codes(self):
        """(code, subject) of what is found."""
        return [(str(each.code), each.subject) for each in findings_of(self.facts())]


def packed(texts):
    """A tar.gz of texts by member."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, text in texts.items():
            body = text if isinstance(text, bytes) else text.encode()
            member = tarfile.TarInfo(name)
            member.size = len(body)
            tar.addfile(member, io.BytesIO(body))
    return gzip.compress(buffer.getvalue(), mtime=0)


def recorded(name):
    """A bundle of tests/data/bundles, which lies there as a folder so that changes can be read."""
    folder = BUNDLES / name
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return packed({path.relative_to(folder).as_posix(): path.read_bytes() for path in files})


def facts_of(name):
    """Of a recorded bundle."""
    return read_facts(read_bundle(recorded(name), source=name), way=Way.BUNDLE)


CPUINFO = "\n\n".join(
    f"processor\t: {number}\nvendor_id\t: GenuineIntel\nmodel name\t: Intel(R) Xeon(R) Gold 6430\n"
    f"physical id\t: {number // 2}\nflags\t\t: fpu vme vmx\n"
    "address sizes\t: 46 bits physical, 57 bits virtual"
    for number in range(4)
)
IOMEM = """\
00000000-00000fff : Reserved
91000000-91ffffff : PCI Bus 0000:02
  91000000-91ffffff : 0000:02:00.0
    91000000-912fffff : BOOTFB
      91000000-912fffff : simpledrm
"""
TOOLS = """\
lspci /usr/bin/lspci
virsh /usr/bin/virsh
xmlstarlet /usr/bin/xmlstarlet
update-initramfs /usr/sbin/update-initramfs
"""
SCRIPT = "/usr/share/cloudstack-common/scripts/vm/hypervisor/kvm/gpudiscovery.sh"
DISCOVERY = f"{'5' * 64}  {SCRIPT}\n731:  3D controller\n732:  Processing accelerators\n"
SERVICES = (
    "Id=cloudstack-agent.service\nLoadState=loaded\nActiveState=active\nUnitFileState=enabled\n"
)


def good_host():
    """Debian 12 on two sockets: an H100 on vfio-pci behind its port, console on the BMC's VGA."""
    host = BuiltHost()
    host.pci(
        CONSOLE,
        "0300",
        "1a03:2000",
        "ASPEED Technology, Inc. ASPEED Graphics Family",
        root="pci0000:00",
        driver="ast",
        group=1,
        boot_vga="1",
    )
    host.pci(
        DISK,
        "0108",
        "144d:a80a",
        "Samsung Electronics Co Ltd NVMe SSD PM9A3",
        root="pci0000:00",
        driver="nvme",
        group=2,
        **LINK,
    )
    host.pci(
        NIC,
        "0200",
        "15b3:1017",
        "Mellanox Technologies MT27800 Family [ConnectX-5]",
        root="pci0000:00",
        driver="mlx5_core",
        group=3,
        **LINK,
    )
    acs = (
        "Capabilities: [148 v1] Access Control Services\n\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ "
        "CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-"
    )
    host.pci(
        PORT,
        "0604",
        "8086:352a",
        "Intel Corporation Device",
        root="pci0000:16",
        driver="pcieport",
        group=10,
        caps=acs,
        **LINK,
        **AER,
    )
    host.pci(
        GPU,
        "0302",
        "10de:2330",
        "NVIDIA Corporation GH100 [H100 SXM5 80GB]",
        root="pci0000:16",
        bridges=[PORT],
        driver="vfio-pci",
        group=11,
        subsystem_vendor="0x10de",
        subsystem_device="0x16c1",
        sriov_totalvfs="32",
        sriov_numvfs="0",
        caps="Subsystem: NVIDIA Corporation Device [10de:16c1]\nPhysical Slot: 4\nIOMMU group: 11",
        resource=bar_lines(
            (0x9C000000, 2**24, "memory"), (0, 1, "memory"), (0x3A000000000, 128 * GIB, "wide")
        ),
        **LINK,
        **AER,
    )
    for node in range(2):
        at = f"/sys/devices/system/node/node{node}"
        host.files[f"{at}/meminfo"] = (
            f"Node {node} MemTotal:       131072000 kB\nNode {node} MemFree: 1 kB\n"
        )
        host.files[f"{at}/cpulist"] = f"{node * 2}-{node * 2 + 1}\n"
        host.files[f"{at}/distance"] = "10 21\n" if node == 0 else "21 10\n"
        host.files[f"{at}/hugepages/hugepages-1048576kB/nr_hugepages"] = "0\n"
        host.files[f"{at}/hugepages/hugepages-1048576kB/free_hugepages"] = "0\n"
    dmi = {
        "product_uuid": "4c4c4544-0035-4b10-8057-b7c04f000001",
        "product_serial": "TEST0001",
        "product_name": "SYS-421GE-TNRT",
        "sys_vendor": "Supermicro",
        "bios_vendor": "American Megatrends International, LLC.",
        "bios_version": "2.1",
        "bios_date": "04/02/2024",
        "board_vendor": "Supermicro",
        "board_name": "X13DEG-OA",
        "board_version": "1.01",
    }
    host.files |= {f"/sys/class/dmi/id/{key}": f"{value}\n" for key, value in dmi.items()}
    host.files |= {
        "/sys/firmware/efi/fw_platform_size": "64\n",
        "/sys/power/state": "freeze mem disk\n",
        "/sys/devices/platform/ipmi_bmc.0/firmware_revision": "1.3\n",
        "/proc/cmdline": "BOOT_IMAGE=/boot/vmlinuz-6.1.0-26-amd64 root=/dev/sda1 ro "
        "intel_iommu=on iommu=pt\n",
        "/proc/cpuinfo": f"{CPUINFO}\n",
        "/proc/meminfo": "MemTotal:       262144000 kB\nMemFree: 1 kB\n",
        "/proc/iomem": IOMEM,
        "/proc/sys/kernel/osrelease": "6.1.0-26-amd64\n",
        "/proc/sys/kernel/random/boot_id": "11111111-2222-4333-8444-555555555555\n",
        "/lib/modules/6.1.0-26-amd64/modules.builtin": "kernel/drivers/char/ipmi/ipmi_si.ko\n",
        "/etc/os-release": 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nID=debian\n',
        "/boot/grub/grubenv": "# GRUB Environment Block\nsaved_entry=gnulinux-simple-1\n",
        "/etc/cloudstack/agent/uefi.properties": "guest.loader.legacy=/usr/share/OVMF_CODE.fd\n",
        "/sys/class/graphics/fb0/name": "astdrmfb\n",
    }
    host.links["/sys/class/iommu/dmar0"] = "../../devices/virtual/iommu/dmar0"
    host.links["/sys/class/graphics/fb0"] = "../../devices/pci0000:00/0000:02:00.0/graphics/fb0"
    host.links["/sys/class/graphics/fb0/device"] = "../../../0000:02:00.0"
    host.commands = {
        "acpi-tables": "APIC\nDMAR\nFACP\n",
        "uname": "x86_64\n",
        "kernel-log": "[    0.067112] DMAR: IOMMU enabled\n",
        "secure-boot": "SecureBoot disabled\n",
        "grub-entries": "menuentry 'Debian GNU/Linux' --class debian $menuentry_id_option "
        "'gnulinux-simple-1' {\n\tlinux\t/boot/vmlinuz-6.1.0-26-amd64 root=/dev/sda1 ro\n",
        "tools": TOOLS,
        "services": SERVICES,
        "packages": "cloudstack-agent 4.22.0.0\npci.ids 0.0~2026.08.22-1\n",
        "virsh-list": " Id   Name   State\n--------------------\n\n",
        "virsh-domains": "\n",
        "agent-properties": "guest.cpu.mode=host-passthrough\nzone=1\n",
        "discovery-script": DISCOVERY,
    }
    host.status = {"nvidia-smi": "missing", "nvidia-mig": "missing", "nvidia-nvlink": "missing"}
    return host
