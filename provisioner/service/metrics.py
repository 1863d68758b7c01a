"""What Prometheus reads. The one place that knows its client library."""

from collections.abc import Iterable
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from provisioner.servers.model import ServerRecord, State
from provisioner.servers.quarantine_reason import is_in_doubt
from provisioner.servers.turns import Turn, Why
from provisioner.units import ServerName

MEDIA_TYPE: Final = CONTENT_TYPE_PLAIN_0_0_4
STAGE_BUCKETS: Final = (0.1, 0.5, 1, 5, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400)
VERB_BUCKETS: Final = (0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 300, 600, 1200, 1800)


class Metrics:
    """Counters of one service. Every method may be called from any thread."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._stages = Histogram(
            "rackwright_stage_seconds",
            "From a stage's first beginning to its end.",
            ["operation", "stage", "outcome"],
            buckets=STAGE_BUCKETS,
            registry=self._registry,
        )
        self._verbs = Histogram(
            "rackwright_verb_seconds",
            "From a verb's arrival to its answer.",
            ["verb", "exit"],
            buckets=VERB_BUCKETS,
            registry=self._registry,
        )
        self._operations = Counter(
            "rackwright_operations",
            "Operations that ended, by how.",
            ["operation", "outcome"],
            registry=self._registry,
        )
        self._servers = Gauge(
            "rackwright_servers",
            "Servers by pool and state.",
            ["pool", "state"],
            registry=self._registry,
        )
        self._flags = Gauge(
            "rackwright_servers_flagged",
            "Servers that are dirty, in maintenance, unwell, or possibly running in quarantine.",
            ["flag"],
            registry=self._registry,
        )
        self._breakers = Gauge(
            "rackwright_breaker_open",
            "1 where a controller is left alone after too many failures.",
            ["server"],
            registry=self._registry,
        )

        self._waiting = Gauge(
            "rackwright_releases_waiting",
            "Servers given back whose wipe waits: for the pool's pace, or since it was protected.",
            ["pool", "why"],
            registry=self._registry,
        )

    def stage(self, operation: str, stage: str, outcome: str, seconds: float) -> None:
        """A stage ended; `outcome` is "done" or "failed"."""
        self._stages.labels(operation, stage, outcome).observe(seconds)

    def operation(self, operation: str, outcome: str) -> None:
        """An operation ended."""
        self._operations.labels(operation, outcome).inc()

    def verb(self, verb: str, status: int, seconds: float) -> None:
        """A verb or action was answered; the caller counts names that are none of ours as one."""
        self._verbs.labels(verb, str(status)).observe(seconds)

    def text(
        self,
        servers: Iterable[ServerRecord],
        breakers: Iterable[ServerName],
        waiting: Iterable[Turn] = (),
    ) -> bytes:
        """All of it in Prometheus' format, with servers counted now."""
        known = tuple(servers)
        self._servers.clear()
        for server in known:
            for state in State:
                self._servers.labels(server.pool, state.value).inc(int(server.state is state))
        for flag, count in (
            ("dirty", sum(server.dirty for server in known)),
            ("maintenance", sum(server.maintenance is not None for server in known)),
            ("unwell", sum(bool(server.health) for server in known)),
            ("in_doubt", sum(_is_in_doubt(server) for server in known)),
        ):
            self._flags.labels(flag).set(count)
        self._breakers.clear()
        for name in breakers:
            self._breakers.labels(name).set(1)
        self._waiting.clear()
        for pool in {server.pool for server in known}:  # a 0 that is there can be watched
            for why in Why:
                self._waiting.labels(pool, why.value).set(0)
        for turn in waiting:
            self._waiting.labels(turn.pool, turn.waits_for).inc()
        return generate_latest(self._registry)


def _is_in_doubt(server: ServerRecord) -> bool:
    return server.state is State.QUARANTINED and is_in_doubt(server.reason)
