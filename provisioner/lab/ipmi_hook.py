"""Run as a program: power and boot device of the server behind ipmi_sim.

usage: ipmi_hook.py FOLDER get NAME...          (by ipmi_sim: answers NAME:VALUE lines)
       ipmi_hook.py FOLDER set NAME VALUE ...   (by ipmi_sim)
       ipmi_hook.py FOLDER keep                 (by `set power 1`: stays as long as QEMU does)

FOLDER has machine.json with QEMU's command line. Standard library only, and quick: the controller
waits for each answer.

The boot device is a one-shot as on real boards: consumed by the next start, and a reset after
that start goes to the disk.
"""

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_NETWORK = "pxe"
_NOTHING_SET = "none"
_END_S = 5.0
_BEGIN_S = 5.0
_SETTLE_S = 3.0


def main(folder: Path, words: list[str]) -> int:
    """Do one thing; ipmi_sim takes a status other than 0 for a failure of the controller."""
    match words:
        case ["get", *names]:
            for name in names:
                sys.stdout.write(f"{name}:{_get(folder, name)}\n")
        case ["set", *pairs]:
            for name, value in zip(pairs[::2], pairs[1::2], strict=False):
                note(folder, told=f"{name} {value}")
                _set(folder, name, value)
        case ["keep"]:
            _keep(folder)
        case _:
            return 1
    return 0


def note(folder: Path, **what: str) -> None:
    """One line in the power log."""
    line = json.dumps({"at": round(time.time(), 3)} | what)
    with (folder / "power.log").open("a") as log:
        log.write(f"{line}\n")


def _get(folder: Path, name: str) -> str:
    match name:
        case "power":
            return "1" if _pid(folder) else "0"
        case "boot":
            return _boot_device(folder)
        case _:
            return "0"


def _set(folder: Path, name: str, value: str) -> None:
    match name, value:
        case "boot", _:
            (folder / "boot").write_text(value)
        case "power", "1":
            _power_on(folder)
        case "power", "0":
            _power_off(folder)
        case "reset", _:
            _reset(folder)
        case "shutdown", _:
            _monitor(folder / "hook.qmp", [{"execute": "system_powerdown"}])
        case _:  # identify and its like: nothing that could be seen
            pass


def _boot_device(folder: Path) -> str:
    try:
        return (folder / "boot").read_text().strip()
    except FileNotFoundError:
        return _NOTHING_SET


def _take_boot_device(folder: Path) -> str:
    device = _boot_device(folder)
    (folder / "boot").unlink(missing_ok=True)
    return device


# --- power ---------------------------------------------------------------------------------------
def _start_time(pid: int) -> str:
    """Nothing when it is gone; the number tells it from a later process with the same id."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return "" if fields[0] in "ZX" else fields[19]


def _pid(folder: Path) -> int:
    """QEMU's process; 0 when the server is off."""
    try:
        pid, started = (folder / "qemu").read_text().split()
    except (FileNotFoundError, ValueError):
        return 0
    return int(pid) if _start_time(int(pid)) == started else 0


def _power_on(folder: Path) -> None:
    if _pid(folder):
        return
    keeper = [sys.executable, "-I", "-S", __file__, str(folder), "keep"]
    with (folder / "keeper.log").open("a") as log:
        subprocess.Popen(
            keeper, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
    deadline = time.monotonic() + _BEGIN_S
    while not _pid(folder) and time.monotonic() < deadline:
        time.sleep(0.02)


def _power_off(folder: Path) -> None:
    pid = _pid(folder)
    deadline = time.monotonic() + _END_S
    asked = signal.SIGTERM
    while pid and _pid(folder) == pid:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, asked)
        asked = signal.SIGKILL if time.monotonic() > deadline else asked
        time.sleep(0.05)


def _keep(folder: Path) -> None:
    """Start QEMU, put its boot order right for the next reset, and note what becomes of it."""
    device = _take_boot_device(folder)
    settings = json.loads((folder / "machine.json").read_text())
    argv = settings["network" if device == _NETWORK else "disk"]
    qemu = subprocess.Popen(argv, stdin=subprocess.DEVNULL)
    hidden = folder / ".qemu"
    hidden.write_text(f"{qemu.pid} {_start_time(qemu.pid)}")
    hidden.replace(folder / "qemu")
    note(folder, event="on", boot=device)
    with contextlib.suppress(OSError), _connected(folder / "keeper.qmp") as monitor:
        _watch(folder, monitor, settings)
    status = qemu.wait()
    note(folder, event="off", status=str(status))


def _watch(folder: Path, monitor: socket.socket, settings: dict[str, Any]) -> None:
    """Note resets and shutdowns as QEMU tells them; ends with QEMU.

    The boot order is put back some seconds after each reset: SeaBIOS answers one with two more
    of its own, and the order is read after the last.
    """
    _say(monitor, {"execute": "qmp_capabilities"})
    is_due = True
    pending = b""
    while True:
        if is_due and not select.select([monitor], [], [], _SETTLE_S)[0]:
            _say(monitor, _nic_order(settings, "last"))
            is_due = False
        said = monitor.recv(4096)
        if not said:
            return
        *lines, pending = (pending + said).split(b"\n")
        for message in map(json.loads, lines):
            event = message.get("event")
            if event in {"RESET", "SHUTDOWN"}:
                note(folder, event=event.lower(), reason=message["data"].get("reason", ""))
                is_due = True


def _reset(folder: Path) -> None:
    """The boot order for this one reset, then the reset."""
    settings = json.loads((folder / "machine.json").read_text())
    place = "first" if _take_boot_device(folder) == _NETWORK else "last"
    commands = [_nic_order(settings, place), {"execute": "system_reset"}]
    _monitor(folder / "hook.qmp", commands)


def _nic_order(settings: dict[str, Any], place: str) -> dict[str, Any]:
    path = f"/machine/peripheral/{settings['nic']}"
    value = settings["nic_places"][place]
    return {
        "execute": "qom-set",
        "arguments": {"path": path, "property": "bootindex", "value": value},
    }


def _monitor(path: Path, commands: list[dict[str, Any]]) -> None:
    """Say something to QEMU's monitor; a machine that is off hears nothing."""
    if not path.exists():
        return
    with contextlib.suppress(OSError), _connected(path) as monitor:
        answers = monitor.makefile("rb")
        answers.readline()  # QEMU's greeting
        for command in ({"execute": "qmp_capabilities"}, *commands):
            _say(monitor, command)
            for line in answers:
                if {"return", "error"} & json.loads(line).keys():
                    break


def _say(monitor: socket.socket, command: dict[str, Any]) -> None:
    monitor.sendall(json.dumps(command).encode() + b"\n")


@contextlib.contextmanager
def _connected(path: Path) -> Iterator[socket.socket]:
    deadline = time.monotonic() + _BEGIN_S
    with socket.socket(socket.AF_UNIX) as monitor:
        while True:
            try:
                monitor.connect(str(path))
                break
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)
        yield monitor


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
