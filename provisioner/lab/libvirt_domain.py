"""A server as a libvirt domain: the XML text and what surrounds it."""

from xml.sax.saxutils import quoteattr

from provisioner.lab.layout import DiskBus, DiskSpec, LabPaths, NbdSocket, RawFile, ServerSpec
from provisioner.lab.qemu import EMULATOR

OVMF_CODE = "/usr/share/OVMF/OVMF_CODE_4M.fd"
OVMF_VARIABLES = "/usr/share/OVMF/OVMF_VARS_4M.fd"


def domain(server: ServerSpec, paths: LabPaths, name: str, *, kvm: bool) -> str:
    """The domain's definition.

    The card is `ethernet` on a tap that libvirt does not manage: with `bridge` it would be put
    back at every start, an unwiped server into the provisioning network. It has no option ROM,
    so OVMF's own PXE boots it, as on real boards.
    """
    processor = "<cpu mode='custom'><model>qemu64</model></cpu>"
    if kvm:
        processor = "<cpu mode='host-passthrough'/>"
    disks = "\n".join(
        _disk(disk, paths, f"sd{chr(ord('a') + number)}")
        for number, disk in enumerate(server.disks)
    )
    return f"""<domain type='{"kvm" if kvm else "qemu"}'>
<name>{name}</name><uuid>{server.uuid}</uuid>
<memory unit='MiB'>{server.memory_mib}</memory><vcpu>{server.threads}</vcpu>
<sysinfo type='smbios'><system>
<entry name='manufacturer'>Rackwright</entry><entry name='product'>Lab</entry>
<entry name='serial'>{server.serial}</entry>
</system></sysinfo>
<os><type arch='x86_64' machine='q35'>hvm</type>
<loader readonly='yes' type='pflash'>{OVMF_CODE}</loader>
<nvram template='{OVMF_VARIABLES}'>{paths.server(server) / "nvram.fd"}</nvram>
<boot dev='hd'/><boot dev='network'/><smbios mode='sysinfo'/></os>
<features><acpi/></features>{processor}
<on_poweroff>destroy</on_poweroff><on_reboot>restart</on_reboot><on_crash>destroy</on_crash>
<devices><emulator>{EMULATOR}</emulator>
<controller type='scsi' model='virtio-scsi'/>
{disks}
<interface type='ethernet'><target dev='{server.tap}' managed='no'/>
<mac address='{server.mac}'/><model type='virtio'/><rom enabled='no'/></interface>
<serial type='pty'><log file={quoteattr(str(paths.serial_log(server)))} append='on'/></serial>
<video><model type='none'/></video><memballoon model='none'/>
</devices></domain>
"""


def _disk(disk: DiskSpec, paths: LabPaths, device: str) -> str:
    bus = {DiskBus.SATA: "sata", DiskBus.SCSI: "scsi", DiskBus.VIRTIO: "virtio"}[disk.bus]
    target = device.replace("sd", "vd") if disk.bus is DiskBus.VIRTIO else device
    wwn = f"<wwn>{disk.wwn}</wwn>" if disk.wwn else ""
    kind, source, discard = _source(disk, paths)
    return f"""<disk type='{kind}' device='disk'>
<driver name='qemu' type='raw' cache='unsafe' discard='{discard}'/>{source}
<target dev='{target}' bus='{bus}'/><serial>{disk.serial}</serial>{wwn}</disk>"""


def _source(disk: DiskSpec, paths: LabPaths) -> tuple[str, str, str]:
    """Type, element and what a discard does."""
    match disk.source:
        case RawFile(honours_discard=honours):
            file = quoteattr(str(paths.disk(disk)))
            return "file", f"<source file={file}/>", "unmap" if honours else "ignore"
        case NbdSocket(socket=socket):
            host = f"<host transport='unix' socket={quoteattr(str(socket))}/>"
            return "network", f"<source protocol='nbd'>{host}</source>", "unmap"
