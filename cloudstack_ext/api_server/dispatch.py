"""One call from its parameters to its answer: key, command, rights, parameters, handler."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from cloudstack_ext.api_server import refusals
from cloudstack_ext.api_server.call import Call, ExtensionPort, Reply, Work
from cloudstack_ext.api_server.commands import Command, known_commands
from cloudstack_ext.api_server.faults import JOB_FAULTS, Fault, FaultKind
from cloudstack_ext.api_server.handlers import HANDLERS
from cloudstack_ext.api_server.jobs import Job
from cloudstack_ext.api_server.model.accounts import User
from cloudstack_ext.api_server.parameters import read_values
from cloudstack_ext.api_server.permissions import may_call
from cloudstack_ext.api_server.ripening import ripen
from cloudstack_ext.api_server.settings import ServerSettings
from cloudstack_ext.api_server.signature import is_signed
from cloudstack_ext.api_server.state import State, new_id
from cloudstack_ext.api_server.wire import Wire


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Attributes: account: name of the key's; None: nobody's. job: that was begun."""

    status: int
    body: Mapping[str, Any]
    account: str | None = None
    job: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispatch:
    """Answers calls on one state.

    Attributes:
        extension: Plays the extension; None: all that it is asked succeeds.
        now: Seconds since 1970.
    """

    state: State
    settings: ServerSettings
    now: Callable[[], float]
    extension: ExtensionPort | None = None

    def answer(self, given: Mapping[str, str], fault: Fault | None = None) -> Answer:
        """Do what the call asks.

        Args:
            given: All parameters as they came.
            fault: What becomes of a job that this call begins; others are the listener's.
        """
        name = given.get("command", "")
        account = None
        with self.state.lock:
            try:
                command, user = self._admitted(name, given)
                account = self.state.accounts[user.account].name
                answer = self._called(command, user, given, fault)
            except refusals.RefusalError as refusal:
                return Answer(status=refusal.code, body=refusal.body(name), account=account)
        return Answer(status=200, body=answer[0], account=account, job=answer[1])

    def _admitted(self, name: str, given: Mapping[str, str]) -> tuple[Command, User]:
        command = known_commands().get(name)
        user = self.state.user_of_key(given.get("apiKey", given.get("apikey", "")))
        signed = (
            user is not None
            and user.secret is not None
            and is_signed(given, user.secret.reveal(), self.now())
        )
        if command is None or user is None or not signed:
            raise refusals.unauthorized(named=command is not None)
        if name not in HANDLERS or not may_call(self.state.role_of(user), command):
            raise refusals.unavailable(name, new_id())
        return command, user

    def _called(
        self, command: Command, user: User, given: Mapping[str, str], fault: Fault | None
    ) -> tuple[Wire, str | None]:
        values = read_values(command, given)
        now = self.now()
        ripen(self.state, self.settings, now)
        call = Call(
            state=self.state,
            settings=self.settings,
            caller=user,
            values=values,
            now=now,
            served=frozenset(HANDLERS),
        )
        result = HANDLERS[command.name](call)
        if not isinstance(result, Work):
            return {command.wrapper: dict(result)}, None
        job = self._begun(command, call, result, fault)
        return {command.wrapper: {**result.answer, "jobid": job.id}}, job.id

    def _begun(self, command: Command, call: Call, work: Work, fault: Fault | None) -> Job:
        server = next(iter(self.state.servers.values()))
        account = self.state.accounts[call.caller.account]
        domain = self.state.domains[account.domain]
        job = Job(
            id=new_id(),
            command=command.name,
            caller={
                "accountid": account.id,
                "account": account.name,
                "domainid": domain.id,
                "domainpath": domain.path,
                "userid": call.caller.id,
            },
            server=(server.id, server.name),
            created=call.now,
            by_root=call.root,
            kind=work.kind,
            entity=work.entity,
            stamped=work.stamped,
        )
        self.state.jobs[job.id] = job
        end = partial(self._end, job, work, fault if fault and fault.kind in JOB_FAULTS else None)
        if not work.asks or self.extension is None:
            end(tuple(Reply() for _ in work.asks))
        else:
            ask = partial(self._ask, self.extension, work, end)
            threading.Thread(target=ask, name=f"job-{job.id}", daemon=True).start()
        return job

    def _ask(
        self, extension: ExtensionPort, work: Work, end: Callable[[tuple[Reply, ...]], None]
    ) -> None:
        replies: list[Reply] = []
        for ask in work.asks:
            replies.append(extension.perform(ask))
            if not replies[-1].success:
                break
        with self.state.lock:
            end(tuple(replies))

    def _end(self, job: Job, work: Work, fault: Fault | None, replies: tuple[Reply, ...]) -> None:
        until = max(self.now(), job.created + self.settings.job_s)
        try:
            job.done(work.finish(replies), until)
        except refusals.RefusalError as refusal:
            job.failed(refusal, until)
        if fault is None:
            return
        match fault.kind:
            case FaultKind.ENDLESS_JOB:
                job.until = None
            case FaultKind.JOB_WITHOUT_RESULT:
                job.cut_off(until)
            case _:
                text = fault.text or refusals.INTERNAL_TEXT
                job.failed(refusals.RefusalError(fault.code, text), until)
