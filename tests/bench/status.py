"""What `status` costs as CloudStack runs it, while 20 deployments are running.

A process that does nothing else starts the entry, waits for its end and reads its line, 200
times over each of its ways, and a bare Python in turn. Run as a program this is that process.
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
    """All of one run; some two minutes."""
    from cloudstack_ext.contract import Verb
    from cloudstack_ext.lab.instances import instance_of
    from cloudstack_ext.lab.payload import lab_payload
    from tests.bench.figure import Run, beside
    from tests.service.entry.rig import ENTRY, HTTPS, SOCKET
    from tests.service.faults.busy import TENANT, busy, quiet_site

    with quiet_site() as site:
        payload = site.folder / "status.json"
        payload.write_bytes(lab_payload(Verb.STATUS, instance_of(TENANT)))
        entry = [str(ENTRY), "status", str(payload), "60"]
        over_https = site.folder / "over-https.conf"
        site.by(HTTPS)
        site.entry_config.replace(over_https)
        site.by(SOCKET)
        configs = [str(site.entry_config), str(over_https)]
        with busy(site):
            ended = subprocess.run(
                [BARE[0], "-I", "-S", __file__, *configs, *entry],
                capture_output=True,
                text=True,
                check=True,
                timeout=600,
            )
    ours, https, bare = (
        Run(command=" ".join(argv), values=[1000 * each for each in taken])
        for argv, taken in zip((entry, entry, BARE), json.loads(ended.stdout), strict=True)
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
        beside("status over HTTPS", "ms", https, "over the socket", ours),
    ]


def _slowest_of_a_hundred(values):
    return sorted(values)[len(values) * 99 // 100]


def measure(configs, entry):
    """Seconds of each call, by configuration and of a bare Python, in turn; status is known."""
    ways = [{"PATH": "/usr/bin:/bin", "RACKWRIGHT_ENTRY_CONFIG": each} for each in configs]
    ours, bare = [[] for _ in ways], []
    for _ in range(ENTRY_CALLS):
        bare.append(_timed(BARE, {})[0])
        for environ, taken in zip(ways, ours, strict=True):
            seconds, line = _timed(entry, environ)
            assert json.loads(line) == {"status": "success", "power_state": "PowerOn"}, line
            taken.append(seconds)
    print(json.dumps([*ours, bare]))


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
    measure(sys.argv[1:3], sys.argv[3:])
