"""One change of a good host, each by the name of what it makes of it."""

from tests.unit.hosts.built import GPU, LINK, PORT

AUDIO, SECOND, SWITCH, OTHER_SWITCH = "0000:17:00.1", "0000:18:00.0", "0000:19:00.0", "0000:1a:00.0"
H100 = "NVIDIA Corporation GH100 [H100 SXM5 80GB]"
SMI = (
    "index, pci.bus_id, name, serial, uuid, memory.total [MiB], vbios_version, mig.mode.current, "
    "mig.mode.pending, driver_version, gpu_recovery_action\n"
)


ON_DISK = "[1.0] {}: BAR 5 [mem size 0x00080000]: can't assign; no space"
XID = "[9.0] NVRM: Xid (PCI:0000:17:00): 79, pid=1, GPU has fallen off the bus."
GPU_HAS = (GPU,)


def smi(host, *, now="Disabled", pending="Disabled", recovery="None", name="NVIDIA H100 80GB HBM3"):
    host.status.pop("nvidia-smi", None)
    host.rebind(GPU, "nvidia")
    host.commands["nvidia-smi"] = SMI + (
        f"0, 00000000:17:00.0, {name}, 1650000000001, GPU-1, 81559 MiB, 96.00.74.00.01, {now}, "
        f"{pending}, 570.86.10, {recovery}\n"
    )


def second_gpu(host, group=12, address=SECOND):
    host.pci(
        address,
        "0302",
        "10de:2330",
        H100,
        root="pci0000:16",
        bridges=[PORT],
        driver="vfio-pci",
        group=group,
    )


def switches(host, *drivers):
    for address, driver in zip((SWITCH, OTHER_SWITCH), drivers, strict=False):
        host.pci(
            address,
            "0680",
            "10de:22a3",
            "NVIDIA Corporation Device",
            root="pci0000:16",
            driver=driver,
            group=20,
        )


def companion(host, driver):
    host.pci(
        AUDIO,
        "0403",
        "10de:22ba",
        "NVIDIA Corporation Audio",
        root="pci0000:16",
        bridges=[PORT],
        driver=driver,
        group=11,
    )


def companion_slot(host):
    """Another slot's function in the GPU's group."""
    host.pci(
        "0000:18:00.0",
        "0c03",
        "1912:0014",
        "Renesas USB",
        root="pci0000:16",
        bridges=[PORT],
        driver="vfio-pci",
        group=11,
    )


def model(host, ids, name, kind="0302"):
    vendor, device = ids.split(":")
    host.set(GPU, vendor=f"0x{vendor}", device=f"0x{device}", **{"class": f"0x{kind}00"})
    host.lspci[GPU] = f"{GPU} Display [{kind}]: {name} [{ids}]\n\tIOMMU group: 11"


def move_gpu(host, address):
    host.pci(
        address, "0302", "10de:2330", H100, root="pci0001:16", driver="vfio-pci", group=40, **LINK
    )


def no_groups(host):
    host.links = {path: to for path, to in host.links.items() if not path.endswith("/iommu_group")}
    host.links.pop("/sys/class/iommu/dmar0")
    host.rename(GPU, "\n\tIOMMU group: 11", "")


def ungrouped(host, address):
    host.links.pop(f"/sys/bus/pci/devices/{address}/iommu_group")
    if address == GPU:
        host.rename(GPU, "\n\tIOMMU group: 11", "")


def both(*acts):
    def act(host):
        for each in acts:
            each(host)

    return act


def put(mapping, key, value):
    return lambda host: getattr(host, mapping).__setitem__(key, value)


def domain(state, bus="0x17"):
    def act(host):
        host.commands["virsh-list"] = f" Id   Name       State\n-----\n 1    i-2-7-VM   {state}\n"
        host.commands["virsh-domains"] = (
            "<domain type='kvm' id='1'><name>i-2-7-VM</name><uuid>1</uuid><devices>"
            "<hostdev mode='subsystem' type='pci' managed='yes'><source>"
            f"<address domain='0x0000' bus='{bus}' slot='0x00' function='0x0'/></source></hostdev>"
            "</devices></domain>\n"
        )

    return act


def line(words):
    return lambda host: host.line(words)


def log(text):
    return lambda host: host.log(text)


def amd(host):
    host.files["/proc/cpuinfo"] = host.files["/proc/cpuinfo"].replace(
        "GenuineIntel", "AuthenticAMD"
    )
    host.files["/proc/cmdline"] = host.files["/proc/cmdline"].replace("intel_iommu=on ", "")
    host.links.pop("/sys/class/iommu/dmar0")
    host.links["/sys/class/iommu/ivhd0"] = "../../devices/virtual/iommu/ivhd0"


def acs(text):
    return lambda host: host.rename(PORT, "SrcValid+", text)


def vga(text):
    return lambda host: host.set(GPU, boot_vga=text)


def width(now, most="16"):
    return lambda host: host.set(GPU, current_link_width=now, max_link_width=most)


def aer(address, count, kind="nonfatal"):
    total = "COR" if kind == "correctable" else kind.upper()
    return lambda host: host.set(
        address, **{f"aer_dev_{kind}": f"DLP {count}\nTOTAL_ERR_{total} {count}"}
    )


def pages(count):
    path = "/sys/devices/system/node/node1/hugepages/hugepages-1048576kB/nr_hugepages"
    return put("files", path, f"{count}\n")


def node_memory(kib):
    return put("files", "/sys/devices/system/node/node1/meminfo", f"Node 1 MemTotal: {kib} kB\n")


def tools_without(name):
    def act(host):
        lines = host.commands["tools"].splitlines(keepends=True)
        host.commands["tools"] = "".join(each for each in lines if not each.startswith(name))

    return act


def services(state):
    text = "\nId=unattended-upgrades.service\nLoadState=loaded\nActiveState="
    return lambda host: host.commands.__setitem__(
        "services", host.commands["services"] + f"{text}{state}\n"
    )


def display_class(host):
    model(host, "1002:740f", "AMD Aldebaran/MI200 [Instinct MI210]", kind="0380")
