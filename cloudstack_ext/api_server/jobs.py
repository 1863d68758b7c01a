"""Asynchronous jobs: pending, done, failed, or ended without a result; pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from cloudstack_ext.api_server import refusals


class JobStatus(IntEnum):
    """`jobstatus`."""

    PENDING = 0
    DONE = 1
    FAILED = 2


CLASSES: Mapping[str, str] = {
    "prepareHostForMaintenance": "admin.host.PrepareForHostMaintenanceCmd",
    "cancelHostMaintenance": "admin.host.CancelHostMaintenanceCmd",
    "reconnectHost": "admin.host.ReconnectHostCmd",
    "deleteTemplate": "user.template.DeleteTemplateCmd",
    "deployVirtualMachine": "user.vm.DeployVMCmd",
    "startVirtualMachine": "user.vm.StartVMCmd",
    "stopVirtualMachine": "user.vm.StopVMCmd",
    "rebootVirtualMachine": "user.vm.RebootVMCmd",
    "destroyVirtualMachine": "user.vm.DestroyVMCmd",
    "expungeVirtualMachine": "admin.vm.ExpungeVMCmd",
    "createProject": "user.project.CreateProjectCmd",
    "deleteProject": "user.project.DeleteProjectCmd",
}
"""`cmd`, below org.apache.cloudstack.api.command; a caller learns nothing else from it."""
_PACKAGE = "org.apache.cloudstack.api.command"
_OF_USERS, _OF_ADMINS = "user.vm.", "admin.vm."
_ACTIONS = "org.apache.cloudstack.framework.extensions.api.RunCustomActionCmd"


@dataclass(slots=True, kw_only=True)
class Job:
    """One job.

    Attributes:
        caller: `accountid`, `account`, `domainid`, `domainpath`, `userid`.
        server: Id and name of the management server that runs it.
        by_root: Whether a root admin began it: some commands have another class then.
        kind, entity: What it is about; "None" and None where that is not made yet.
        stamped: The key of the result that gets `jobid` and `jobstatus`; None: none does.
        until: When it ends; None while it runs, for ever if it was told so.
        result: None: it ended without one, as one does that a restart of the server cut off.
    """

    id: str
    command: str
    caller: Mapping[str, str]
    server: tuple[str, str]
    created: float
    by_root: bool = False
    kind: str | None = None
    entity: str | None = None
    stamped: str | None = None
    until: float | None = None
    code: int = 0
    result: Mapping[str, Any] | None = None

    def done(self, result: Mapping[str, Any], until: float) -> None:
        """It ended well."""
        self.code, self.result, self.until = 0, result, until

    def failed(self, refusal: refusals.RefusalError, until: float) -> None:
        """It ended with an error."""
        self.code, self.result, self.until = refusal.code, refusal.job_result(), until

    def cut_off(self, until: float) -> None:
        """The server was restarted meanwhile."""
        self.code, self.result, self.until = refusals.INTERNAL, None, until

    def status(self, now: float) -> JobStatus:
        """As a poll sees it."""
        if self.until is None or now < self.until:
            return JobStatus.PENDING
        return JobStatus.FAILED if self.code else JobStatus.DONE

    def answer(self, now: float, stamp: Mapping[str, str]) -> dict[str, Any]:
        """Of queryAsyncJobResult; `stamp` has `created`, and `completed` once it has ended."""
        status = self.status(now)
        ended = status is not JobStatus.PENDING
        server = dict(zip(("managementserverid", "managementservername"), self.server, strict=True))
        about = {"jobinstancetype": self.kind, "jobinstanceid": self.entity}
        return {
            **self.caller,
            "cmd": self._class(),
            "jobprocstatus": 0,
            "jobresultcode": self.code if ended else 0,
            **(self._result() if ended else {}),
            **{name: text for name, text in about.items() if text is not None},
            **({} if ended and self.result is not None else server),
            **stamp,
            "jobid": self.id,
            "jobstatus": int(status),
        }

    def _class(self) -> str:
        if self.command == "runCustomAction":
            return _ACTIONS
        name = CLASSES[self.command]
        if self.by_root and name.startswith(_OF_USERS):
            name = f"{name.replace(_OF_USERS, _OF_ADMINS)}ByAdmin"
        return f"{_PACKAGE}.{name}"

    def _result(self) -> dict[str, Any]:
        if self.result is None:
            return {}
        result = dict(self.result)
        if self.stamped in result:
            mark = {"jobid": self.id, "jobstatus": int(JobStatus.PENDING)}
            result[self.stamped] = {**result[self.stamped], **mark}
        return {"jobresulttype": "object", "jobresult": result}
