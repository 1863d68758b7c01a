"""A lying disk as a block device of this machine: nbdkit, nbdfuse, a loop device. Root only."""

import json
import subprocess
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

PLUGIN = Path(__file__).with_name("plugin.py")
WITHIN_S = 10


@contextmanager
def device(folder, *words):
    """/dev/loopN in front of `nbdkit WORDS`; `folder` gets its sockets."""
    folder.mkdir(parents=True, exist_ok=True)
    socket, mounted = folder / "socket", folder / "mounted"
    mounted.touch()
    with ExitStack() as stack:
        _start(stack, "nbdkit", "-f", "-U", str(socket), *words)
        _wait(socket.exists)
        _start(stack, "nbdfuse", str(mounted), f"nbd+unix:///?socket={socket}")
        stack.callback(_run, "fusermount3", "-u", str(mounted))
        _wait(lambda: mounted.stat().st_size > 0)
        loop = _run("losetup", "--direct-io=on", "-f", "--show", str(mounted)).strip()
        stack.callback(_run, "losetup", "-d", loop)
        yield loop


@contextmanager
def lying_device(folder, disk, **rules):
    """A device behind which this file lies as told; `folder` gets the rules and a log too."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "rules.json").write_text(json.dumps(rules))
    words = (f"file={disk}", f"rules={folder}/rules.json", f"log={folder}/log")
    with device(folder, "python", str(PLUGIN), *words) as loop:
        yield loop


def _start(stack, *argv):
    child = subprocess.Popen(argv, stdin=subprocess.DEVNULL)
    stack.callback(child.wait, WITHIN_S)
    stack.callback(child.terminate)


def _run(*argv):
    return subprocess.run(argv, check=True, capture_output=True, text=True, timeout=30).stdout


def _wait(ready):
    until = time.monotonic() + WITHIN_S
    while not ready():
        if time.monotonic() > until:
            raise TimeoutError("the lying disk did not come up")
        time.sleep(0.05)
