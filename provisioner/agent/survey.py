"""Ask one disk what it can do, with the tools that speak its language."""

from pathlib import Path

from provisioner.agent.tool import RunTool
from provisioner.wipe.capabilities import Capabilities, NvmeCapabilities
from provisioner.wipe.device_log import DeviceLog, parse_smartctl
from provisioner.wipe.parse_ata import parse_ata
from provisioner.wipe.parse_nvme import parse_nvme
from provisioner.wipe.parse_scsi import parse_scsi

LIMIT_S = 60
BLOCK_FOLDER = Path("/sys/block")


def read_capabilities(path: str, run: RunTool) -> Capabilities:
    """Everything this disk says that it can do; languages it does not speak stay None."""
    name = Path(path).name
    nvme = _read_nvme(path, run) if name.startswith("nvme") else None
    ata = scsi = None
    if name.startswith("sd"):
        identify = run(("hdparm", "-I", path), LIMIT_S).text()
        sizes = run(("hdparm", "-N", path), LIMIT_S).text()
        status = run(("hdparm", "--sanitize-status", path), LIMIT_S).text()
        ata = parse_ata(identify, sizes, status)
        scsi = parse_scsi(
            run(("sg_opcodes", path), LIMIT_S).text(),
            run(("sg_readcap", "--long", path), LIMIT_S).text(),
            run(("sg_requests", path), LIMIT_S).text(),
        )
    return Capabilities(
        read_only=_number(name, "ro") == 1,
        rotational=_number(name, "queue/rotational") == 1,
        discard_max_bytes=_number(name, "queue/discard_max_bytes"),
        nvme=nvme,
        ata=ata,
        scsi=scsi,
    )


def read_device_log(path: str, run: RunTool) -> DeviceLog:
    """The disk's own record of its health."""
    # smartctl's status is a set of flags about the disk; its JSON says the same and more
    return parse_smartctl(run(("smartctl", "-j", "-a", path), LIMIT_S).text())


def _read_nvme(path: str, run: RunTool) -> NvmeCapabilities | None:
    return parse_nvme(
        run(("nvme", "id-ctrl", "-o", "json", path), LIMIT_S).text(),
        run(("nvme", "id-ns", "-o", "json", path), LIMIT_S).text(),
        run(("nvme", "sanitize-log", "--raw-binary", path), LIMIT_S).output,
    )


def _number(disk: str, attribute: str) -> int:
    """0 where the kernel does not say."""
    try:
        return int((BLOCK_FOLDER / disk / attribute).read_text().strip())
    except (OSError, ValueError):
        return 0
