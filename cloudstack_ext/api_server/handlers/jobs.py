"""What has become of an asynchronous command."""

from collections.abc import Mapping
from types import MappingProxyType

from cloudstack_ext.api_server.call import Call, Handler
from cloudstack_ext.api_server.jobs import JobStatus
from cloudstack_ext.api_server.wire import Wire, stamp


def query(call: Call) -> Wire:
    """queryAsyncJobResult: HTTP 200 also for a job that failed."""
    job = call.found("jobid", call.state.jobs)
    ended = job.status(call.now) is not JobStatus.PENDING and job.until is not None
    moments = {"created": stamp(job.created)}
    if ended and job.until is not None:
        moments["completed"] = stamp(job.until)
    return job.answer(call.now, moments)


COMMANDS: Mapping[str, Handler] = MappingProxyType({"queryAsyncJobResult": query})
