"""The one door to CloudStack's API, and the only importer of `cs`.

POST, with an explicit endpoint and key; the library's own configuration file, its retries and
its way of following jobs are not used. A command is one of three things afterwards: answered,
refused with CloudStack's words, or sent without an answer; the last is never taken for a refusal.
"""

import asyncio
import email.utils
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import cs
import requests
import urllib3.exceptions

from cloudstack_ext.api_key import ApiKey
from cloudstack_ext.parameters import Answer, Parameters
from provisioner.errors import ErrorCode, InputError, OperatorError, RackwrightError, TransientError
from provisioner.ports.clock import Clock
from provisioner.units import Seconds

ANSWER_WITHIN_S: Final = 60
"""Of one HTTP request. Commands that take longer are jobs; addHost was seen to take 2 s."""
JOB_WITHIN_S: Final = Seconds(120.0)
JOBS_WITHIN_S: Final[Mapping[str, Seconds]] = {"prepareHostForMaintenance": Seconds(300.0)}
"""An empty host was in maintenance after 8 s; one with instances stops them all first."""
LISTENED_S: Final = Seconds(10.0)
"""For what a call costs beside its answers."""
POLL_FIRST_S: Final = 0.5
POLL_MOST_S: Final = 5.0
PAGE_SIZES: Final = (500, 100, 20)
"""The first is CloudStack's default.page.size; a site may have set a smaller one."""
LIST_TRIES: Final = 3
READ_AGAIN_AFTER_S: Final = (0.5, 2.0)
SKEW_S: Final = 60.0
"""A clock that is further away than this is named when a signature is refused."""
MOST_WORDS: Final = 500

READS: Final = ("list", "query", "get")
NOT_ALLOWED: Final = 432
KEY_REFUSED: Final = 401
BAD_PARAMETER: Final = 431
PAGE_TOO_LARGE: Final = 433
OVER_LIMIT: Final = 535
LIMIT_REMEDY: Final = "; raise that limit (updateResourceLimit) or remove something, and ask again"
FAILED: Final = 2
PENDING: Final = 0


def longest_of(command: str) -> Seconds:
    """How long a call of this command may take until the client has given it up."""
    return Seconds(ANSWER_WITHIN_S + JOBS_WITHIN_S.get(command, JOB_WITHIN_S) + LISTENED_S)


@dataclass(eq=False)
class RefusalError(OperatorError):
    """CloudStack's own refusal.

    Attributes:
        status: Its errorcode: 431 a parameter, 530 inside, 531 not yours, 535 a limit.
    """

    status: int = 0


class CloudStackClient:
    """Calls commands one after the other, in a thread of its own.

    Attributes:
        key: Of the user that asks; no secret.
        ahead_s: CloudStack's clock before ours, by its last answer; None: it never said.

    Args:
        endpoint: Ends in /client/api.
        key: Of the account that acts.
        clock: For waiting.
        ca: A CA's certificate, where the system does not know it.
    """

    def __init__(self, endpoint: str, key: ApiKey, clock: Clock, *, ca: Path | None = None) -> None:
        self._endpoint, self._clock, self.key = endpoint, clock, key.key
        session = _Session(self._note_time)
        self._cs = cs.CloudStack(
            endpoint=endpoint,
            key=key.key,
            secret=key.secret.reveal(),
            method="post",
            timeout=ANSWER_WITHIN_S,
            verify=str(ca) if ca else None,
            session=session,
        )
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="cloudstack")
        self._answered = False
        self.ahead_s: float | None = None

    def close(self) -> None:
        """Let the thread end; a call in it ends by its own time-out."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def call(self, command: str, parameters: Parameters | None = None) -> Answer:
        """The answer of one command; that of an asynchronous one is its job's result.

        Reads are asked again where nothing answered; what changes something never is.

        Raises:
            InputError: CLOUDSTACK_KEY, CLOUDSTACK_RIGHTS.
            RefusalError: CLOUDSTACK_REFUSED.
            OperatorError: CLOUDSTACK_NONSENSE.
            TransientError: CLOUDSTACK_UNREACHABLE: nothing was sent. CLOUDSTACK_SILENT: it was,
                and may have been carried out. DEADLINE: its job had not ended in its time.
        """
        answer = await self._asked(command, parameters or {})
        if "jobid" in answer:
            answer = await self._followed(command, str(answer["jobid"]))
        if str(answer.get("success", True)).lower() == "false":
            words = _words(answer.get("displaytext")) or "it says that it did not succeed"
            raise _refused(command, words, 0)
        return answer

    async def every(
        self, command: str, of: str, parameters: Parameters | None = None
    ) -> tuple[Answer, ...]:
        """All rows of a list command that has pages, or an error: never a part of them.

        Args:
            command: listHosts and the like.
            of: Where its answer has the rows: "host".
            parameters: Filters.

        Raises:
            TransientError: CLOUDSTACK_LIST_CUT: it changed under our hands, again and again.
            RackwrightError: As `call`.
        """
        for size in PAGE_SIZES:
            try:
                for _ in range(LIST_TRIES):
                    found = await self._pages(command, of, parameters or {}, size)
                    if found is not None:
                        return found
            except RefusalError as error:
                if error.status not in {BAD_PARAMETER, PAGE_TOO_LARGE} or size == PAGE_SIZES[-1]:
                    raise
                if "page" not in error.brief.lower():
                    raise
            else:
                break
        text = f"{command}: the list did not come whole in {LIST_TRIES} tries"
        raise TransientError(ErrorCode.CLOUDSTACK_LIST_CUT, text)

    async def _pages(
        self, command: str, of: str, parameters: Parameters, size: int
    ) -> tuple[Answer, ...] | None:
        """None where pages and count do not agree."""
        found: dict[str, Answer] = {}
        rows, total, page = 0, 0, 1
        while True:
            answer = await self.call(command, {**parameters, "page": page, "pagesize": size})
            some = answer.get(of, [])
            rows += len(some)
            total = max(total, int(answer.get("count", 0)))  # a page without rows has none
            found |= {_identity(row): row for row in some}
            if not some or rows >= total:
                break
            page += 1
        whole = rows >= total and len(found) == rows
        return tuple(found.values()) if whole else None

    async def _asked(self, command: str, parameters: Parameters) -> Answer:
        again = READ_AGAIN_AFTER_S if command.startswith(READS) else ()
        for wait in again:
            try:
                return await self._once(command, parameters)
            except TransientError:
                await self._clock.sleep(Seconds(wait))
        return await self._once(command, parameters)

    async def _once(self, command: str, parameters: Parameters) -> Answer:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, partial(self._send, command, parameters))

    def _send(self, command: str, parameters: Parameters) -> Answer:
        tilde = next((name for name, value in parameters.items() if "~" in str(value)), None)
        if tilde is not None:
            # Quirk: Java's URLEncoder writes ~ as %7E when it checks the signature, cs does not
            text = f"{command}: {tilde} holds a ~, whose signature CloudStack would refuse"
            raise InputError(ErrorCode.PAYLOAD_FIELD, text)
        with self._meaning(command):
            answer = getattr(self._cs, command)(**parameters)
        if not isinstance(answer, dict):
            raise self._nonsense(command, "its answer is no JSON object")
        self._answered = True
        return answer

    @contextmanager
    def _meaning(self, command: str) -> Iterator[None]:
        """What the libraries raise, as errors of ours."""
        try:
            yield
        except cs.CloudStackApiException as error:
            raise self._refusal(command, error) from error
        except cs.CloudStackException as error:
            raise self._nonsense(command, _words(" ".join(map(str, error.args)))) from error
        except requests.exceptions.SSLError as error:
            text = f"{self._endpoint}: its certificate is not trusted; name its CA in the file"
            raise OperatorError(ErrorCode.CLOUDSTACK_NONSENSE, text, str(error)) from error
        except requests.exceptions.RequestException as error:
            if _never_sent(error):
                text = f"{self._endpoint} does not answer; {command} was not sent"
                raise TransientError(ErrorCode.CLOUDSTACK_UNREACHABLE, text, str(error)) from error
            text = f"{self._endpoint}: {command} was sent and no answer came"
            raise TransientError(ErrorCode.CLOUDSTACK_SILENT, text, str(error)) from error

    def _note_time(self, response: requests.Response) -> None:
        with suppress(ValueError):  # no date, or one of no known form
            there = email.utils.parsedate_to_datetime(response.headers.get("Date", ""))
            self.ahead_s = there.timestamp() - self._clock.wall()

    def _refusal(self, command: str, error: cs.CloudStackApiException) -> RackwrightError:
        status = int(error.response.status_code)
        told = error.error if isinstance(error.error, dict) else {}
        words = _words(told.get("errortext"))
        if status == KEY_REFUSED and not self._answered:
            skew = _skew(self.ahead_s)
            text = f"{self._endpoint} refuses the API key or its secret{skew}"
            return InputError(ErrorCode.CLOUDSTACK_KEY, text, words)
        if status in {KEY_REFUSED, NOT_ALLOWED}:
            # a name that CloudStack has never heard of is answered like a bad signature
            text = f"{command} is not there or not allowed for this key: add the rule {command}"
            return InputError(ErrorCode.CLOUDSTACK_RIGHTS, text, words)
        return _refused(command, words or f"HTTP {status}", status)

    def _nonsense(self, command: str, what: str) -> OperatorError:
        text = f"{self._endpoint} is not CloudStack's API ({command}: {what})"
        return OperatorError(ErrorCode.CLOUDSTACK_NONSENSE, text)

    async def _followed(self, command: str, job: str) -> Answer:
        """The result of a job; polled at once, then 0.5 s later, then ever more seldom."""
        within = JOBS_WITHIN_S.get(command, JOB_WITHIN_S)
        until, wait = self._clock.monotonic() + within, POLL_FIRST_S
        while True:
            state = await self._job_state(job)
            if int(state.get("jobstatus", PENDING)) != PENDING:
                return _result(command, state)
            if self._clock.monotonic() + wait > until:
                text = f"{command}: its job {job} had not ended after {within:.0f} s"
                raise TransientError(ErrorCode.DEADLINE, text)
            await self._clock.sleep(Seconds(wait))
            wait = min(wait * 2, POLL_MOST_S)

    async def _job_state(self, job: str) -> Answer:
        """Pending where nobody answers: a management server that restarts keeps its jobs."""
        try:
            return await self._once("queryAsyncJobResult", {"jobid": job})
        except TransientError:
            return {}


class _Session(requests.Session):
    """Tells of every answer; cs prepares its requests without a session's hooks."""

    def __init__(self, note: Callable[[requests.Response], None]) -> None:
        super().__init__()
        self.trust_env = False  # no proxy, netrc or CA bundle that the environment names
        self._note = note

    def send(self, request: requests.PreparedRequest, **how: Any) -> requests.Response:  # noqa: ANN401
        response = super().send(request, **how)
        self._note(response)
        return response


def _identity(row: Answer) -> str:
    """A template of two zones is listed twice, a setting has no id."""
    return f"{row.get('id', row.get('name'))} {row.get('zoneid', '')}"


def _result(command: str, state: Answer) -> Answer:
    result = state.get("jobresult")
    told: Answer = result if isinstance(result, dict) else {}
    if int(state["jobstatus"]) == FAILED:
        # a management server that was restarted ends its jobs without any result
        words = _words(told.get("errortext")) or "its job failed and says nothing"
        raise _refused(command, words, int(state.get("jobresultcode", 0)))
    return told


def _refused(command: str, words: str, status: int) -> RefusalError:
    remedy = LIMIT_REMEDY if status == OVER_LIMIT else ""
    text = f"{command}: {words}{remedy}"
    return RefusalError(ErrorCode.CLOUDSTACK_REFUSED, text, status=status)


def _words(text: object) -> str:
    """What CloudStack says, on one line of a length that people read."""
    return " ".join(str(text or "").split())[:MOST_WORDS]


def _never_sent(error: requests.exceptions.RequestException) -> bool:
    if isinstance(error, requests.exceptions.ConnectTimeout):
        return True
    if not isinstance(error, requests.exceptions.ConnectionError):
        # a URL that is none, a header that is none: refused before anything is sent
        return not isinstance(
            error,
            requests.exceptions.Timeout
            | requests.exceptions.ChunkedEncodingError
            | requests.exceptions.ContentDecodingError,
        )
    inner = error.args[0] if error.args else None
    reason = getattr(inner, "reason", inner)
    return isinstance(reason, urllib3.exceptions.NewConnectionError)


def _skew(ahead_s: float | None) -> str:
    """Said where the two clocks are so far apart that the signature may have expired."""
    if ahead_s is None or abs(ahead_s) <= SKEW_S:
        return ""
    way = "behind" if ahead_s > 0 else "ahead of"
    return f"; this machine's clock is {abs(ahead_s):.0f} s {way} its own"
