"""Memory of the service: idle, and with 20 deployments under way."""

import time
from pathlib import Path

from tests.bench.figure import Run, alone, beside

SAMPLES = 20
KIB_IN_MIB = 1024
COMMAND = "VmRSS in /proc/PID/status of `rackwright serve` on fakes, 21 servers"


def figures():
    """Two figures without a limit; a minute."""
    from tests.service.faults.busy import DEPLOYMENTS, busy, quiet_site

    with quiet_site() as site:
        idle = _samples(site.process.pid)
        with busy(site):
            working = _samples(site.process.pid)
    return [
        alone("memory of the service, idle", "MiB", idle),
        beside(
            f"memory of the service, {DEPLOYMENTS} deployments running",
            "MiB",
            working,
            "idle",
            idle,
        ),
    ]


def _samples(pid):
    """What is resident of the process, once a quarter of a second."""
    found = []
    for _ in range(SAMPLES):
        status = Path(f"/proc/{pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
        found.append(int(line.split()[1]) / KIB_IN_MIB)
        time.sleep(0.25)
    return Run(command=COMMAND, values=found)
