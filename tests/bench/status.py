"""What `status` costs as CloudStack runs it, while 20 deployments are running.

A process that does nothing else starts the entry, waits for its end and reads its line, 200
times, and a bare Python in turn. Run as a program this is that process.
"""

import json
import os
import subprocess
import sys
import time

ENTRY_CALLS = 200
BARE = ["/usr/bin/python3", "-I", "-S", "-c", "pass"]
MEDIAN_LIMIT, P99_LIMIT = 2.4, 3.0


def figures():
    """Both of one run; some two minutes."""
    from cloudstack_ext.contract import Verb
    from cloudstack_ext.lab.instances import instance_of
    from cloudstack_ext.lab.payload import lab_payload
    from tests.bench.figure import Run, beside
    from tests.service.entry.rig import ENTRY
    from tests.service.faults.busy import TENANT, busy, quiet_site

    with quiet_site() as site:
        payload = site.folder / "status.json"
        payload.write_bytes(lab_payload(Verb.STATUS, instance_of(TENANT)))
        entry = [str(ENTRY), "status", str(payload), "60"]
        with busy(site):
            ended = subprocess.run(
                [BARE[0], "-I", "-S", __file__, str(site.entry_config), *entry],
                capture_output=True,
                text=True,
                check=True,
                timeout=600,
            )
    ours, bare = (
        Run(command=" ".join(argv), values=[1000 * each for each in taken])
        for argv, taken in zip((entry, BARE), json.loads(ended.stdout), strict=True)
    )
    slow = Run(command=ours.command, values=[_slowest_of_a_hundred(ours.values)])
    return [
        beside(
            "status as CloudStack runs it, 20 deployments running",
            "ms",
            ours,
            "a bare Python",
            bare,
            limit=f"ratio <= {MEDIAN_LIMIT}",
            holds=ours.median <= MEDIAN_LIMIT * bare.median,
        ),
        beside(
            "status, slowest of a hundred (99 %)",
            "ms",
            slow,
            "its own median",
            ours,
            limit=f"ratio <= {P99_LIMIT}",
            holds=slow.median <= P99_LIMIT * ours.median,
            n=len(ours.values),
        ),
    ]


def _slowest_of_a_hundred(values):
    return sorted(values)[len(values) * 99 // 100]


def measure(config, entry):
    """Seconds of each call of the entry and of each bare Python, in turn; status must be known."""
    environ = {"PATH": "/usr/bin:/bin", "RACKWRIGHT_ENTRY_CONFIG": config}
    ours, bare = [], []
    for _ in range(ENTRY_CALLS):
        bare.append(_timed(BARE, environ)[0])
        seconds, line = _timed(entry, environ)
        assert json.loads(line) == {"status": "success", "power_state": "PowerOn"}, line
        ours.append(seconds)
    print(json.dumps([ours, bare]))


def _timed(argv, environ):
    """Start, wait, read what it wrote: as the management server does it."""
    reading, writing = os.pipe()
    actions = [(os.POSIX_SPAWN_DUP2, writing, 1), (os.POSIX_SPAWN_DUP2, writing, 2)]
    began = time.monotonic()
    child = os.posix_spawn(argv[0], argv, environ, file_actions=actions)
    os.close(writing)
    assert os.waitpid(child, 0)[1] == 0
    line = os.read(reading, 65536)
    seconds = time.monotonic() - began
    os.close(reading)
    return seconds, line


if __name__ == "__main__":
    measure(sys.argv[1], sys.argv[2:])
