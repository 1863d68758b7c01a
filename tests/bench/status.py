"""What `status` costs as CloudStack runs it, while 20 deployments are running.

A process that does nothing else starts the entry, waits for its end and reads its line, 200
times, and a bare Python in turn. Run as a program this is that process.
"""

import json
import os
import statistics
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
    ours, bare = json.loads(ended.stdout)
    return [_median(entry, ours, bare), _p99(entry, ours)]


def _median(entry, ours, bare):
    value, peer = statistics.median(ours), statistics.median(bare)
    return {
        "name": "status as CloudStack runs it, 20 deployments running",
        "value": round(value * 1000, 1),
        "unit": "ms",
        "peer": "a bare Python",
        "peer_value": round(peer * 1000, 1),
        "ratio": round(value / peer, 2),
        "limit": f"ratio <= {MEDIAN_LIMIT}",
        "holds": value / peer <= MEDIAN_LIMIT,
        "n": len(ours),
        "spread": f"ours {_range(ours)}, peer {_range(bare)} ms (1 % to 99 %)",
        "command": " ".join(entry),
        "peer_command": " ".join(BARE),
    }


def _p99(entry, ours):
    value, median = _share(ours, 0.99), statistics.median(ours)
    return {
        "name": "status, slowest of a hundred",
        "value": round(value * 1000, 1),
        "unit": "ms",
        "peer": "its own median",
        "peer_value": round(median * 1000, 1),
        "ratio": round(value / median, 2),
        "limit": f"ratio <= {P99_LIMIT}",
        "holds": value / median <= P99_LIMIT,
        "n": len(ours),
        "spread": f"{_range(ours)} ms (1 % to 99 %)",
        "command": " ".join(entry),
        "peer_command": " ".join(entry),
    }


def _share(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def _range(values):
    return f"{_share(values, 0.01) * 1000:.1f} to {_share(values, 0.99) * 1000:.1f}"


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
