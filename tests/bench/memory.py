"""Memory of the service: idle, and with 20 deployments under way."""

import statistics
import time
from pathlib import Path

SAMPLES = 20
MIB = 1 << 20


def figures():
    """Two figures without a limit; a minute."""
    from tests.service.faults.busy import DEPLOYMENTS, busy, quiet_site

    with quiet_site() as site:
        idle = _samples(site.process.pid)
        with busy(site):
            working = _samples(site.process.pid)
    return [
        _figure("memory of the service, idle", idle, None),
        _figure(f"memory of the service, {DEPLOYMENTS} deployments running", working, idle),
    ]


def _samples(pid):
    """Resident bytes of the process, once a quarter of a second."""
    found = []
    for _ in range(SAMPLES):
        status = Path(f"/proc/{pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
        found.append(int(line.split()[1]) * 1024)
        time.sleep(0.25)
    return found


def _figure(name, values, before):
    value = statistics.median(values)
    peer = statistics.median(before) if before else None
    return {
        "name": name,
        "value": round(value / MIB, 1),
        "unit": "MiB",
        "peer": "idle" if before else None,
        "peer_value": round(peer / MIB, 1) if peer else None,
        "ratio": round(value / peer, 2) if peer else None,
        "limit": None,
        "holds": True,
        "n": len(values),
        "spread": f"{min(values) / MIB:.1f} to {max(values) / MIB:.1f} MiB",
        "command": "VmRSS in /proc/PID/status of `rackwright serve` on fakes, 21 servers",
        "peer_command": None,
    }
