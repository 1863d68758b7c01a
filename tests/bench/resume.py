"""From `kill -9` of the service to its operations going on.

systemd starts the service RestartSec after its end; that time is part of the figure.
"""

import re
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from tests.bench.figure import Run, alone

LIMIT_S = 5.0
UNIT = Path(__file__).parents[2] / "provisioner/service/units/rackwright.service"
ACTS = ("port to provisioning", "boot network", "boot disk")
"""Acts that a step does again when the service was killed before it heard of them."""
KILLED = 3
"""Servers whose deployment is killed at each of the acts; then so many times all at once."""
AGAIN = '"step write-image begins"'


def figures():
    """Alone, then with 20 deployments; some two minutes."""
    from tests.service.faults.busy import DEPLOYMENTS, busy, quiet_site

    with quiet_site(servers=1 + KILLED + DEPLOYMENTS) as site:
        one = [seconds for name in site.names[1 : 1 + KILLED] for seconds in _one(site, name)]
        with busy(site):
            all_of_them = [_all(site, DEPLOYMENTS) for _ in range(KILLED)]
    return [
        alone("kill -9 to the operation acting again", "s", _run(one), most=LIMIT_S),
        alone(
            f"kill -9 to {DEPLOYMENTS} operations waiting for their agents again",
            "s",
            _run(all_of_them),
            most=LIMIT_S,
        ),
    ]


def _one(site, server):
    """Seconds from each kill to the same act, done again at the outside."""
    taken = []
    with ThreadPoolExecutor(1) as caller:
        create = caller.submit(site.call, "create", f"killed-{server}", wait=600)
        for act in ACTS:
            line = f"{server} {act}"
            held = site.rack.log.hold(line)
            held.wait()
            again = partial(site.rack.log.until, line, since=len(site.rack.log.lines))
            taken.append(_seconds(site, again, held))
        assert create.result().exit == 0
    return taken


def _all(site, operations):
    """Seconds to the last of them."""
    before = site.log().count(AGAIN)
    there = lambda: site.log().count(AGAIN) - before >= operations  # noqa: E731
    return _seconds(site, lambda: site.until(there, "all go on"))


def _seconds(site, there, held=None):
    began = time.monotonic()
    site.kill()
    if held is not None:
        held.let_go()
    time.sleep(_restart_s())
    site.spawn()
    there()
    return time.monotonic() - began


def _restart_s():
    return float(re.search(r"^RestartSec=([0-9.]+)$", UNIT.read_text(), re.M)[1])


def _run(taken):
    return Run(
        command=f"kill -9 the service's group; after {_restart_s():.0f} s (RestartSec) again "
        "`rackwright serve` on fakes",
        values=taken,
    )
