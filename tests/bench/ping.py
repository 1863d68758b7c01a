"""What a ping of a pool of 200 instances costs: `statuses` at once, or `status` one by one.

Service and database are real, controllers are fakes; all in one run, first idle, then while 20
deployments are running.
"""

import json
from dataclasses import dataclass

from tests.bench.caller import BARE, by_entry, called, shown
from tests.bench.figure import Run, beside

ROUNDS = 5
STATUSES = 5
"""So often before the single ones of a round, and so often after them."""
STATUSES_LIMIT_MS = 100.0
PING_LIMIT_S, BUSY_PING_LIMIT_S = 4.0, 12.0


def figures():
    """Four figures; some five minutes, most of them until the pool is full."""
    from tests.bench.pool import full_pool
    from tests.service.faults.busy import DEPLOYMENTS, busy

    with full_pool() as site:
        ping = Ping.of(site)
        idle = ping.measured()
        with busy(site):
            working = ping.measured()
    load = f"{DEPLOYMENTS} deployments running"
    return [
        *_shown(idle, "idle", STATUSES_LIMIT_MS, PING_LIMIT_S),
        *_shown(working, load, None, BUSY_PING_LIMIT_S),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One load.

    Attributes:
        statuses: In milliseconds.
        single: All `status` of a ping, in seconds; `bare` as many Pythons.
        differing: Answers of both verbs that are not as they must be.
    """

    statuses: Run
    single: Run
    bare: Run
    differing: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ping:
    """The calls.

    Attributes:
        together: `statuses`, with its environment.
        each: `status` by the instance's name, likewise.
    """

    together: tuple[list[str], dict[str, str]]
    each: dict[str, tuple[list[str], dict[str, str]]]

    @classmethod
    def of(cls, site):
        """Payload files and the entry, by its way over the socket."""
        from tests.bench.pool import of_all, of_each

        return cls(
            together=_call(site, "statuses", "all", of_all()),
            each={name: _call(site, "status", name, body) for name, body in of_each().items()},
        )

    def measured(self):
        """All rounds, each with as many Pythons as instances."""
        statuses, single, bare, differing = [], [], [], 0
        some, count = [self.together] * STATUSES, len(self.each)
        first = next(iter(self.each.values()))
        for _ in range(ROUNDS):
            answers = called([*some, *self.each.values(), *some, *[(BARE, {})] * count])
            before, ones = answers[:STATUSES], answers[STATUSES:][:count]
            after = answers[STATUSES + count :][:STATUSES]
            differing += self.differing(before + after, ones)
            statuses += [1000 * seconds for seconds, _ in before + after]
            single.append(sum(seconds for seconds, _ in ones))
            bare.append(sum(seconds for seconds, _ in answers[-count:]))
        return Measured(
            statuses=Run(command=shown(*self.together), values=statuses),
            single=Run(command=f"once for each of {count}: {shown(*first)}", values=single),
            bare=Run(command=f"{count} times: {shown(BARE, {})}", values=bare),
            differing=differing,
        )

    def differing(self, together, ones):
        """Answers that do not say that each runs, or leave one out, or name one too many."""
        running = dict.fromkeys(self.each, "poweron")
        reports = [json.loads(line).get("power_state") for _, line in together]
        alone = [str(json.loads(line).get("power_state")).lower() for _, line in ones]
        wrong = sum(report != running for report in reports)
        return wrong + sum(said != "poweron" for said in alone)


def _call(site, verb, name, payload):
    from tests.service.entry.rig import ENTRY

    file = site.folder / f"{verb}-{name}.json"
    file.write_bytes(payload)
    return [str(ENTRY), verb, str(file), "60"], by_entry(site.entry_config)


def _shown(seen, load, statuses_most_ms, single_most_s):
    single_ms = Run(command=seen.single.command, values=[1000 * s for s in seen.single.values])
    in_time = statuses_most_ms is None or max(seen.statuses.values) <= statuses_most_ms
    yield beside(
        f"statuses of a pool of 200 instances, {load}",
        "ms",
        seen.statuses,
        "by status, one after the other",
        single_ms,
        limit=None if statuses_most_ms is None else f"each <= {statuses_most_ms:g} ms, all named",
        holds=in_time and not seen.differing,
    )
    yield beside(
        f"status of each of 200 instances, one after the other, {load}",
        "s",
        seen.single,
        "as often a bare Python",
        seen.bare,
        limit=f"each <= {single_most_s:g} s, all as statuses says",
        holds=max(seen.single.values) <= single_most_s and not seen.differing,
    )
