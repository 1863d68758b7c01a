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
    for event in _events(folder, settings):
        reason = str(event.get("data", {}).get("reason", ""))
        note(folder, event=event["event"].lower(), reason=reason)
    status = qemu.wait()
    note(folder, event="off", status=str(status))


def _events(folder: Path, settings: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Resets and shutdowns as QEMU tells them; ends with QEMU."""
    disk_next = _nic_order(settings, "last")
    with contextlib.suppress(OSError), _connected(folder / "keeper.qmp") as monitor:
        for command in ({"execute": "qmp_capabilities"}, disk_next):
            monitor.write(json.dumps(command) + "\n")
            monitor.flush()
        for line in monitor:
            message = json.loads(line)
            if message.get("event") in {"RESET", "SHUTDOWN"}:
                yield message


def _reset(folder: Path) -> None:
    """Boot order for this one reset, then back: the monitor is left when the reset has happened."""
    settings = json.loads((folder / "machine.json").read_text())
    place = "first" if _take_boot_device(folder) == _NETWORK else "last"
    _monitor(
        folder / "hook.qmp",
        [
            _nic_order(settings, place),
            {"execute": "system_reset"},
        ],
        until="RESET",
    )
    _monitor(folder / "hook.qmp", [_nic_order(settings, "last")])


def _nic_order(settings: dict[str, Any], place: str) -> dict[str, Any]:
    path = f"/machine/peripheral/{settings['nic']}"
    value = settings["nic_places"][place]
    return {
        "execute": "qom-set",
        "arguments": {"path": path, "property": "bootindex", "value": value},
    }


def _monitor(path: Path, commands: list[dict[str, Any]], *, until: str = "") -> None:
    """Say something to QEMU's monitor; a machine that is off hears nothing."""
    if not path.exists():
        return
    with contextlib.suppress(OSError), _connected(path) as monitor:
        for command in ({"execute": "qmp_capabilities"}, *commands):
            monitor.write(json.dumps(command) + "\n")
            monitor.flush()
            _read_until(monitor, "return")
        if until:
            _read_until(monitor, until)


def _read_until(monitor: Any, what: str) -> None:  # noqa: ANN401 a socket's file
    for line in monitor:
        message = json.loads(line)
        if what in message or message.get("event") == what or "error" in message:
            return


@contextlib.contextmanager
def _connected(path: Path) -> Iterator[Any]:
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
        with monitor.makefile("rw") as lines:
            lines.readline()  # QEMU's greeting
            yield lines


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
