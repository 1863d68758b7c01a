"""A server behind a real IPMI controller: OpenIPMI's ipmi_sim with a plain QEMU as its machine."""

import json
import sys
from pathlib import Path

from provisioner.lab import ipmi_hook, qemu, serial_line
from provisioner.lab.layout import LabPaths, Layout, ServerSpec
from provisioner.lab.namespaces import argv_inside
from provisioner.lab.probes import wait_for_tcp
from provisioner.lab.processes import Record, Running

_FIRST_KCS_PORT = 9100
_FIRST_SERIAL_PORT = 9200
"""On the rack's loopback: QEMU calls the controller at one, the controller the serial line."""
_LINE_S = 20.0
_COMMANDS = """\
mc_setbmc 0x20
mc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02 persist_sdr
sel_enable 0x20 1000 0x0a
mc_enable 0x20
"""
"""Source: ipmi_sim_cmd(5). One controller with an event log; any error in here would be silent
and leave the network socket closed, since that opens at mc_enable."""


def process_name(server: ServerSpec) -> str:
    """Under which ipmi_sim is on record."""
    return f"ipmi_sim-{server.name}"


def line_name(server: ServerSpec) -> str:
    """The same for its serial line."""
    return f"serial-{server.name}"


def up(layout: Layout, paths: LabPaths, record: Record, server: ServerSpec, *, kvm: bool) -> None:
    """Write the controller's settings and start it; the server itself stays as it is."""
    folder = paths.server(server)
    number = layout.servers.index(server)
    settings = {
        "network": _argv(server, paths, number, qemu.NETWORK_FIRST, kvm=kvm),
        "disk": _argv(server, paths, number, qemu.NETWORK_LAST, kvm=kvm),
        "nic": qemu.NIC,
        "nic_places": {"first": qemu.NETWORK_FIRST, "last": qemu.NETWORK_LAST},
    }
    (folder / "machine.json").write_text(json.dumps(settings, indent=1))
    (folder / "commands.emu").write_text(_COMMANDS)
    lan = folder / "lan.conf"
    lan.touch(mode=0o600)
    lan.write_text(_lan(server, paths, number))
    state = folder / "state"
    state.mkdir(exist_ok=True)
    port = _FIRST_SERIAL_PORT + number
    line = [sys.executable, "-I", "-S", serial_line.__file__, str(port), str(_line(paths, server))]
    if record.start(line_name(server), argv_inside(layout.rack, line)):
        wait_for_tcp(layout.rack, "127.0.0.1", port, what="the serial line", within_s=_LINE_S)
    files = ["-c", str(lan), "-f", str(folder / "commands.emu"), "-s", str(state)]
    record.start(process_name(server), argv_inside(layout.rack, ["ipmi_sim", "-n", *files]))


def down(paths: LabPaths, record: Record, server: ServerSpec) -> None:
    """Take the mains away: the server, then its controller."""
    machine = running(paths, server)
    if machine is not None:
        machine.end()
    for process in (process_name(server), line_name(server)):
        record.stop(process)


def running(paths: LabPaths, server: ServerSpec) -> Running | None:
    """The server's QEMU, while it is on."""
    try:
        pid, started = (paths.server(server) / "qemu").read_text().split()
    except (FileNotFoundError, ValueError):
        return None
    now = Running.of(int(pid))
    return now if now is not None and now.started == int(started) else None


def _argv(
    server: ServerSpec, paths: LabPaths, number: int, network_place: int, *, kvm: bool
) -> list[str]:
    folder = paths.server(server)
    monitors = [f"unix:{folder / name},server=on,wait=off" for name in ("hook.qmp", "keeper.qmp")]
    kcs = f"socket,id=ipmi0,host=127.0.0.1,port={_FIRST_KCS_PORT + number},reconnect=2"
    serial = (
        f"socket,id=serial0,path={_line(paths, server)},reconnect=1"
        f",logfile={paths.serial_log(server)},logappend=on"
    )
    return [
        qemu.EMULATOR,
        *qemu.machine(server, kvm=kvm),
        *(word for monitor in monitors for word in ("-qmp", monitor)),
        "-chardev",
        kcs,
        "-device",
        "ipmi-bmc-extern,id=bmc0,chardev=ipmi0",
        "-device",
        "isa-ipmi-kcs,bmc=bmc0",
        "-chardev",
        serial,
        "-serial",
        "chardev:serial0",
        *qemu.card(server, network_place),
        *qemu.disks(server, paths),
    ]


def _line(paths: LabPaths, server: ServerSpec) -> Path:
    return paths.server(server) / "line"


def _lan(server: ServerSpec, paths: LabPaths, number: int) -> str:
    """The controller's network side, users and hook.

    The GUID is the UUID's bytes in the order of its text.
    """
    password = paths.password(server).read_text().strip()
    hook = f"{sys.executable} -I -S {Path(ipmi_hook.__file__)} {paths.server(server)}"
    return f"""name "{server.name}"
set_working_mc 0x20
  startlan 1
    addr {server.controller} {server.controller_port}
    priv_limit admin
    allowed_auths_callback none md2 md5 straight
    allowed_auths_user none md2 md5 straight
    allowed_auths_operator none md2 md5 straight
    allowed_auths_admin none md2 md5 straight
    guid {server.uuid.hex}
  endlan
  chassis_control "{hook}"
  serial kcs 127.0.0.1 {_FIRST_KCS_PORT + number} codec VM
  sol "tcp:127.0.0.1:{_FIRST_SERIAL_PORT + number}" 115200 history=20000
  user 1 false "" "" user 1 none md5 straight
  user 2 true "{server.user}" "{password}" admin 10 none md5 straight
"""
