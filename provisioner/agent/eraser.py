"""Erase one disk: canaries, method, canaries again, for each of its methods."""

import shlex
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from provisioner.agent.canaries import Canaries
from provisioner.agent.medium import Medium
from provisioner.agent.survey import read_capabilities, read_device_log
from provisioner.agent.tally import Tally
from provisioner.agent.targets import Target
from provisioner.agent.tool import RunTool
from provisioner.wipe.capabilities import Capabilities, SanitizeState
from provisioner.wipe.choose import is_frozen, leaves
from provisioner.wipe.commands import (
    OVERWRITE_BLOCK_BYTES,
    SHORT_S,
    Act,
    RequirePassword,
    Run,
    Watch,
    WriteZeros,
    acts,
    preparation,
    read_log,
    unlock,
)
from provisioner.wipe.method import SECURITY_ERASES, Leaves, Method
from provisioner.wipe.orders import ErasedDisk, MethodRun, RunStatus
from provisioner.wipe.parse_ata import parse_identify
from provisioner.wipe.samples import edges

UNREADABLE_LOGS = 3
"""A disk may answer a few times with something else (unit attention) before its log."""


@dataclass(eq=False)
class ActFailedError(Exception):
    """One act of a method did not end well; the method is over."""

    status: RunStatus
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What an eraser works with.

    Attributes:
        begun: Of the order, monotonic.
        pause: Waits between two looks at a disk's own log.
    """

    run: RunTool
    tally: Tally
    begun: float
    pause: Callable[[float], None]

    def ms(self) -> int:
        """Since the order began."""
        return round((time.monotonic() - self.begun) * 1000)


class DiskEraser:
    """Runs the methods of one disk, one after the other, and writes down what happened."""

    def __init__(self, target: Target, canaries: Canaries, bench: Bench) -> None:
        """Nothing is touched yet."""
        self._target = target
        self._path = target.path
        self._canaries = canaries
        self._bench = bench
        self._commands: list[str] = []
        self._turn = 0
        self._state = SanitizeState.UNKNOWN

    def erase(self, methods: tuple[Method, ...]) -> ErasedDisk:
        """All methods, whatever becomes of one of them: as much as possible shall be gone.

        Only a frozen disk ends it early: it needs a power-on, and all is run again after it.
        """
        capabilities = read_capabilities(self._path, self._bench.run)
        runs: list[MethodRun] = []
        try:
            for act in preparation(self._path, capabilities):
                self._perform(act)
        except ActFailedError as failure:
            return self._ended(capabilities, runs, error=failure.text)
        for turn, method in enumerate(methods):
            self._turn = turn
            runs.append(self._run_method(method, capabilities))
            self._bench.tally.reach(self._path, (turn + 1) * self._target.reference.bytes, method)
            if runs[-1].status is RunStatus.FROZEN:
                break
        return self._ended(capabilities, runs)

    def zero_edges(self, erased: ErasedDisk) -> ErasedDisk:
        """Write zeros over both ends where the last method leaves anything else.

        Noise can look like a partition table. Done when all disks of a unit are erased, since
        the next one's sanitize may reach this one again.
        """
        methods = tuple(run.method for run in erased.runs)
        if erased.error or erased.is_frozen() or leaves(methods) is Leaves.ZERO:
            return erased
        try:
            with Medium.open(self._path, write=True) as medium:
                for start, end in edges(medium.bytes):
                    for _ in medium.write_zeros(start, end, OVERWRITE_BLOCK_BYTES):
                        pass
                medium.settle()
        except OSError as failure:
            return self._ended(erased.capabilities, list(erased.runs), error=str(failure))
        return self._ended(erased.capabilities, list(erased.runs), edges_zeroed=True)

    def _ended(
        self,
        capabilities: Capabilities,
        runs: list[MethodRun],
        *,
        edges_zeroed: bool = False,
        error: str = "",
    ) -> ErasedDisk:
        return ErasedDisk(
            disk=self._target.reference,
            path=self._path,
            capabilities=capabilities,
            runs=tuple(runs),
            edges_zeroed=edges_zeroed,
            log=read_device_log(self._path, self._bench.run),
            error=error,
        )

    def _run_method(self, method: Method, capabilities: Capabilities) -> MethodRun:
        begun = self._bench.ms()
        self._commands, self._state = [], SanitizeState.UNKNOWN
        written = kept = left = 0
        status, text = RunStatus.DONE, ""
        if is_frozen(method, capabilities):
            status = RunStatus.FROZEN
        try:
            if status is RunStatus.DONE:
                written, kept = self._write_canaries()
                for act in acts(method, self._path, capabilities):
                    self._perform(act)
                left = self._find_canaries()
        except ActFailedError as failure:
            status, text = failure.status, failure.text
            self._leave_unlocked(method)
            left = self._find_canaries_if_readable()
        except OSError as failure:
            status, text = RunStatus.IO_ERROR, str(failure)
        return MethodRun(
            method=method,
            status=status,
            commands=tuple(self._commands),
            begun_ms=begun,
            ended_ms=self._bench.ms(),
            canaries_written=written,
            canaries_kept=kept,
            canaries_left=left,
            sanitize_state=self._state,
            text=text,
        )

    def _write_canaries(self) -> tuple[int, int]:
        """(written, read back): a disk that loses them is not to be trusted with zeros either."""
        with Medium.open(self._path, write=True) as medium:
            written = self._canaries.write(medium, self._turn)
        return written, self._find_canaries()

    def _find_canaries(self) -> int:
        with Medium.open(self._path) as medium:
            medium.settle()
            return self._canaries.find(medium, self._turn)

    def _find_canaries_if_readable(self) -> int:
        try:
            return self._find_canaries()
        except OSError:
            # the failure that is already on record says more
            return 0

    def _perform(self, act: Act) -> None:
        """Raises ActFailedError; OSError where the disk itself refuses to be written."""
        if isinstance(act, Run):
            self._perform_run(act)
        elif isinstance(act, Watch):
            self._perform_watch(act)
        elif isinstance(act, RequirePassword):
            self._require_password(act)
        else:
            self._write_zeros(act)

    def _perform_run(self, act: Run) -> None:
        self._commands.append(shlex.join(act.argv))
        ended = self._bench.run(act.argv, act.limit_s)
        if ended.status:
            raise ActFailedError(RunStatus.FAILED, f"{act.argv[0]}: {ended.why()}")

    def _perform_watch(self, act: Watch) -> None:
        self._commands.append(shlex.join(act.argv))
        until = time.monotonic() + act.limit_s
        unreadable = 0
        while unreadable < UNREADABLE_LOGS and time.monotonic() < until:
            ended = self._bench.run(act.argv, SHORT_S)
            self._state, share = read_log(act.log, ended.output)
            if self._state is SanitizeState.UNKNOWN:
                unreadable += 1
            elif self._state is not SanitizeState.RUNNING:
                break
            self._reach(share)
            self._bench.pause(act.every_s)
        if act.after_ours and self._state is not SanitizeState.COMPLETED:
            raise ActFailedError(RunStatus.FAILED, f"the disk's own log says {self._state}")

    def _require_password(self, act: RequirePassword) -> None:
        found = parse_identify(self._bench.run(act.argv, SHORT_S).text())
        if found is None or not found.security:
            raise ActFailedError(
                RunStatus.NO_EFFECT, "the disk has no security feature, and said success"
            )
        if found.enabled != act.is_set:
            text = "it took no password" if act.is_set else "its password is still set"
            raise ActFailedError(RunStatus.NO_EFFECT, f"the disk said success, but {text}")

    def _write_zeros(self, act: WriteZeros) -> None:
        with Medium.open(self._path, write=True) as medium:
            self._commands.append(f"write zeros {medium.bytes} bytes block {act.block_bytes}")
            for done in medium.write_zeros(0, medium.bytes, act.block_bytes):
                self._reach(done / medium.bytes)
            medium.settle()

    def _reach(self, share: float) -> None:
        done = int((self._turn + share) * self._target.reference.bytes)
        self._bench.tally.reach(self._path, done, "erasing")

    def _leave_unlocked(self, method: Method) -> None:
        """A disk that kept our password could not even be read by the next run."""
        if method in SECURITY_ERASES:
            for act in unlock(self._path):
                with suppress(ActFailedError):
                    self._perform_run(act)
