"""What `status` costs as CloudStack runs it, while 20 deployments are running.

The entry over each of its ways, and a bare Python, 200 times in turn.
"""

import json

from tests.bench.caller import BARE, by_entry, called, shown
from tests.bench.figure import Run, beside

ENTRY_CALLS = 200
MEDIAN_LIMIT, P99_LIMIT = 2.4, 3.0
RUNNING = {"status": "success", "power_state": "PowerOn"}


def figures():
    """All of one run; some two minutes."""
    from cloudstack_ext.contract import Verb
    from cloudstack_ext.lab.instances import instance_of
    from cloudstack_ext.lab.payload import lab_payload
    from tests.service.entry.rig import ENTRY
    from tests.service.faults.busy import TENANT, busy, quiet_site

    with quiet_site() as site:
        payload = site.folder / "status.json"
        payload.write_bytes(lab_payload(Verb.STATUS, instance_of(TENANT)))
        entry = [str(ENTRY), "status", str(payload), "60"]
        ways = [by_entry(config) for config in both_ways(site)]
        in_turn = [(BARE, {}), *((entry, environ) for environ in ways)]
        with busy(site):
            answers = called(in_turn * ENTRY_CALLS)
    turns = [answers[start :: len(in_turn)] for start in range(len(in_turn))]
    assert all(json.loads(line) == RUNNING for turn in turns[1:] for _, line in turn)
    bare, ours, https = (
        Run(command=shown(*call), values=[1000 * seconds for seconds, _ in turn])
        for call, turn in zip(in_turn, turns, strict=True)
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
        beside("status over HTTPS with a client certificate", "ms", https, "over the socket", ours),
    ]


def both_ways(site):
    """The entry's configuration for the socket, and the one for HTTPS."""
    from tests.service.entry.rig import HTTPS, SOCKET

    over_https = site.folder / "over-https.conf"
    site.by(HTTPS)
    site.entry_config.replace(over_https)
    site.by(SOCKET)
    return site.entry_config, over_https


def _slowest_of_a_hundred(values):
    return sorted(values)[len(values) * 99 // 100]
