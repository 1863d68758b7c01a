"""The order rescue: the ramdisk becomes a system that the instance's keys log in to.

The order itself changes nothing that could not go on: it unpacks the tools, makes a host key
and sees sshd answer on loopback. Only its last act, when the service has the result, leaves the
provisioning network. Standard library only.
"""

import base64
import contextlib
import hashlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Never

from provisioner.agent import rescue_plan as plan
from provisioner.agent.facts import KernelTree
from provisioner.agent.order import Link, OrderFailedError
from provisioner.agent.rescue_order import RescueOrder
from provisioner.agent.tool import ToolEnded, run_tool
from provisioner.hardware.machine import read_cards

RESCUE = 10
"""The agent's exit status that tells /init to go on as a rescue system."""
LEASE_CLIENT = "/run/udhcpc.pid"
_ORDER = f"{plan.FOLDER}/order.json"
_FINGERPRINT = f"{plan.FOLDER}/fingerprint"
_BOOT_FILES = ("/etc/rackwright", "/run/address")
_UNPACK_S = 300.0
_TOOL_S = 30.0
_ANSWER_S = 20.0
_LOOK_AGAIN_S = 0.1
_PROOF_PORT = 2222
_MOST_BANNER = 255
"""Source: RFC 4253, section 4.2."""


def rescue(parameters: Mapping[str, Any], link: Link) -> dict[str, Any]:
    """Make everything ready, and prove it; the result names the host key.

    Raises:
        OrderFailedError: ORDER_MALFORMED; FACTS_DIFFER: a card is not in this machine;
            AGENT_FAILED: this ramdisk has no rescue system, or its sshd does not answer.
    """
    try:
        order = RescueOrder.from_json(parameters)
    except ValueError as error:
        raise OrderFailedError("ORDER_MALFORMED", f"order rescue: {error}") from None
    _check_cards(order)
    _expect("the rescue system was not unpacked", [plan.SCRIPT, "unpack"], _UNPACK_S)
    Path(plan.FOLDER).mkdir(exist_ok=True)
    fingerprint = _make_host_key()
    at = f"127.0.0.1:{_PROOF_PORT}"
    banner = banner_of(plan.sshd(at), _PROOF_PORT, limit_s=_ANSWER_S)
    Path(_FINGERPRINT).write_text(f"{fingerprint}\n", encoding="ascii")
    Path(_ORDER).write_text(json.dumps(order.to_json()), encoding="utf-8")
    link.journal(f"rescue: {banner} answers, host key {fingerprint}")
    return {"host_key": fingerprint}


def begin() -> Never:
    """Leave the provisioning network, stand in the instance's, and end the agent."""
    order = RescueOrder.from_json(json.loads(Path(_ORDER).read_text(encoding="utf-8")))
    cards = _cards()
    with contextlib.suppress(OSError, ValueError):
        os.kill(int(Path(LEASE_CLIENT).read_text(encoding="ascii")), signal.SIGKILL)
    for path in _BOOT_FILES:
        _remove(Path(path))
    for place, file in plan.files(order, cards).items():
        write(Path(place), file)
    for argv in plan.network_commands(order.networks, cards):
        ended = run_tool(argv, _TOOL_S)
        if ended.status:
            # the result is given: what is left to do may still let somebody in
            print(f"rescue: {' '.join(argv)}: {ended.why()}", flush=True)  # noqa: T201
    socket.sethostname(plan.kernel_name(order.hostname))
    raise SystemExit(RESCUE)


def banner_of(argv: Sequence[str], port: int, *, limit_s: float) -> str:
    """What a server, started for this and ended again, says first to who connects on loopback.

    Raises:
        OrderFailedError: AGENT_FAILED: it is not there, ends, or is no SSH server.
    """
    try:
        child = subprocess.Popen(
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        raise _failed(f"sshd cannot be started: {error}") from error
    until = time.monotonic() + limit_s
    try:
        while time.monotonic() < until:
            if child.poll() is not None:
                raise _failed(f"sshd ended at once with status {child.returncode}")
            line = _first_line(port)
            if line.startswith("SSH-2.0-"):
                return line
            time.sleep(_LOOK_AGAIN_S)
    finally:
        child.kill()
        child.wait()
    raise _failed(f"sshd did not answer on loopback within {limit_s:.0f} s")


def _first_line(port: int) -> str:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=_ANSWER_S) as connection:
            said = connection.makefile("rb").readline(_MOST_BANNER)
    except OSError:
        return ""
    return said.decode("ascii", errors="replace").strip()


def write(place: Path, file: plan.File) -> None:
    """A file with its mode from its first byte on; folders above it are its owner's alone."""
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    with open(place, "w", encoding="utf-8", opener=_opener(file.mode)) as opened:
        opened.write(file.text)


def _opener(mode: int) -> Any:  # noqa: ANN401 what open takes
    return lambda path, flags: os.open(path, flags, mode)


def fingerprint_of(public_key: str) -> str:
    """SHA256:... as ssh shows it, of what dropbearkey prints.

    Raises:
        ValueError: There is no key in it.
    """
    found = re.search(r"^ssh-ed25519 (\S+)", public_key, re.MULTILINE)
    if found is None:
        raise ValueError("no public key")
    digest = hashlib.sha256(base64.b64decode(found[1], validate=True)).digest()
    return f"SHA256:{base64.b64encode(digest).decode().rstrip('=')}"


def _make_host_key() -> str:
    """In RAM, new for each order; its fingerprint."""
    Path(plan.HOST_KEY).unlink(missing_ok=True)
    argv = ["dropbearkey", "-t", "ed25519", "-f", plan.HOST_KEY]
    ended = _expect("no host key was made", argv, _TOOL_S)
    try:
        return fingerprint_of(ended.text())
    except ValueError as error:
        raise _failed(f"no host key was made: {error}") from error


def _check_cards(order: RescueOrder) -> None:
    missing = [each.mac for each in order.networks if each.mac not in _cards()]
    if missing:
        raise OrderFailedError("FACTS_DIFFER", f"this machine has no card {', '.join(missing)}")


def _cards() -> dict[str, str]:
    return {each.mac: each.name for each in read_cards(KernelTree())}


def _expect(what_failed: str, argv: Sequence[str], limit_s: float) -> ToolEnded:
    ended = run_tool(argv, limit_s)
    if ended.status:
        raise _failed(f"{what_failed}: {ended.why()}")
    return ended


def _failed(text: str) -> OrderFailedError:
    return OrderFailedError("AGENT_FAILED", text)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
