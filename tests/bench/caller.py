"""A process that does nothing else: starts one command after the other, as CloudStack does.

It starts each, waits for its end and reads its line. Run as a program this is that process: calls
as JSON on its input, their seconds and lines as JSON on its output.
"""

import json
import os
import subprocess
import sys
import time

BARE = ["/usr/bin/python3", "-I", "-S", "-c", "pass"]
"""What a start of Python costs by itself."""
LIMIT_S = 1200


def by_entry(config):
    """The environment in which CloudStack runs the entry, with this configuration."""
    return {"PATH": "/usr/bin:/bin", "RACKWRIGHT_ENTRY_CONFIG": str(config)}


def shown(argv, environ):
    """A call as one would type it."""
    named = [f"{name}={value}" for name, value in environ.items() if name != "PATH"]
    return " ".join([*named, *argv])


def called(calls):
    """Seconds and line of each call, whatever it ended with.

    Args:
        calls: argv and environment of each, in this order.
    """
    ended = subprocess.run(
        [BARE[0], "-I", "-S", __file__],
        input=json.dumps(calls),
        capture_output=True,
        text=True,
        check=True,
        timeout=LIMIT_S,
    )
    return json.loads(ended.stdout)


def _call(argv, environ):
    reading, writing = os.pipe()
    actions = [(os.POSIX_SPAWN_DUP2, writing, 1), (os.POSIX_SPAWN_DUP2, writing, 2)]
    began = time.monotonic()
    child = os.posix_spawn(argv[0], argv, environ, file_actions=actions)
    os.close(writing)
    os.waitpid(child, 0)
    line = os.read(reading, 65536)
    seconds = time.monotonic() - began
    os.close(reading)
    return seconds, line.decode()


if __name__ == "__main__":
    json.dump([_call(*each) for each in json.load(sys.stdin)], sys.stdout)
