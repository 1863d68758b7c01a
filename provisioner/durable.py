"""The one door to DBOS: public names only.

An operation is one generic workflow that walks the list of steps stored with it. DBOS keeps
ids, names of steps and the words "done" and "failed"; everything else is in our own tables,
which are the authority. Never here: its cancel and its time-outs (they let a server's next
operation begin while the act of the older one runs on), its results, its retries.
"""

import logging
import time
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

import sqlalchemy as sa
from dbos import DBOS, DBOSClient, DBOSConfig, DBOSPortableJSONSerializer

from provisioner.units import OperationId, ServerName, WallSeconds

NAME = "rackwright"
QUEUE = "servers"
WORKFLOW = "operation"
# DBOS resumes and takes only work of its own version, by default a hash of the sources. What
# may change between releases is the list of steps, and that is stored: one version for ever.
VERSION = "1"
# the default is pickle, and reading a pickle runs code out of the database
JSON = DBOSPortableJSONSerializer()
GOES_ON = frozenset({"ENQUEUED", "PENDING", "DELAYED"})
LOG_LEVEL = "ERROR"
"""A warning is one line for each operation that waits at a stop, and one against SQLite."""
AT_ONCE = 500
POLL_S = 0.2

StepsOf = Callable[[str], Coroutine[Any, Any, list[str]]]
RunStep = Callable[[str, str], Coroutine[Any, Any, str]]


class Durable:
    """Runs operations, one a server at a time, and goes on with them after a crash.

    Nothing is read or written before `launch`; until then `enqueue` works only on a database
    that was launched once.

    Args:
        url: Of the database that holds our tables too: both are written in one transaction.
        site: The executor's id. Two processes that are launched with one id run the same work.
    """

    def __init__(self, url: str, *, site: str) -> None:
        self._url = url
        self._site = site
        # it speaks from here on, and with a handler of its own where it finds none
        logger = logging.getLogger("dbos")
        logger.addHandler(logging.NullHandler())
        logger.setLevel(LOG_LEVEL)
        self._client = DBOSClient(
            system_database_url=url, serializer=JSON, application_name=NAME, lazy=True
        )

    async def launch(self, *, steps_of: StepsOf, run_step: RunStep) -> None:
        """Make the engine's tables, go on with what was in flight, take what is handed over.

        Operations run in the caller's loop from then on: it shares locks of controllers with
        the power loop, and is not the listeners'. A held service does not call it at all.

        Args:
            steps_of: The stored list of an operation.
            run_step: Does one step and answers "done" or "failed"; it lets no exception out,
                whose text DBOS would store.
        """
        config = DBOSConfig(
            name=NAME,
            system_database_url=self._url,
            application_version=VERSION,
            executor_id=self._site,
            serializer=JSON,
            log_level=LOG_LEVEL,
            max_executor_threads=32,  # its checkpoints and our statements; hardware has its own
            sys_db_pool_size=16,
        )
        DBOS(config=config)

        # None: the limit of recoveries counts planned restarts too; beginnings of a step are ours
        @DBOS.workflow(name=WORKFLOW, max_recovery_attempts=None)
        async def operation(identifier: str) -> str:
            for step in await DBOS.run_step_async({"name": "list"}, steps_of, identifier):
                done = await DBOS.run_step_async({"name": step}, run_step, identifier, step)
                if done != "done":
                    return "failed"
            return "done"

        DBOS.launch()
        await DBOS.register_queue_async(QUEUE, partition_concurrency=1, polling_interval_sec=POLL_S)

    def enqueue(
        self, connection: sa.Connection, operation: OperationId, server: ServerName
    ) -> None:
        """Hand an operation over in the caller's transaction (ports.HandOver)."""
        self._client.enqueue_in_transaction(
            connection,
            {
                "workflow_name": WORKFLOW,
                "queue_name": QUEUE,
                "queue_partition_key": server,
                "workflow_id": operation,
                "app_version": VERSION,
            },
            operation,
        )

    def lost(self, operations: Iterable[str]) -> dict[str, str]:
        """Those that will not run (again): id -> how they ended for DBOS, or "UNKNOWN"."""
        wanted = list(operations)
        found: dict[str, str] = {}
        for start in range(0, len(wanted), AT_ONCE):
            part = wanted[start : start + AT_ONCE]
            rows = DBOS.list_workflows(workflow_ids=part, load_input=False, load_output=False)
            found |= {each.workflow_id: str(each.status) for each in rows}
        status = {each: found.get(each, "UNKNOWN") for each in wanted}
        return {each: how for each, how in status.items() if how not in GOES_ON}

    def forget(self, before: WallSeconds) -> int:
        """Delete some of what ended before this moment from the engine's tables; how many."""
        rows = DBOS.list_workflows(
            status=["SUCCESS", "ERROR", "CANCELLED"],
            completed_before=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(before)),
            limit=AT_ONCE,
            load_input=False,
            load_output=False,
        )
        DBOS.delete_workflows([row.workflow_id for row in rows])
        return len(rows)

    def stop(self) -> None:
        """Let go of what waits (it stays open and goes on at the next launch) and end."""
        self._client.destroy()
        DBOS.destroy()
