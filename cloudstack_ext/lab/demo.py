"""The main job for everyone to see. Run by `./dev demo`.

One line a stage with its seconds, a bar of what agents acknowledged, a closing table; ends
non-zero when anything is not as it must be.
"""

import fcntl
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from cloudstack_ext.lab.site import DEBIAN, LabSite
from cloudstack_ext.lab.stages import TINY, MainJob, Stage
from provisioner.cli.progress import reporting
from provisioner.errors import ErrorCode, Kind, OperatorError, RackwrightError

WELCOME = """\
Rackwright's main job, for you to see: two servers in a virtual rack of real parts are enrolled,
deployed for two CloudStack instances, used, given back, and wiped with proof. Each line below is
one stage with its seconds, and what was seen from outside. Without hardware virtualisation {about}.
Ctrl-C takes everything down. Logs, consoles and disks: {state}
"""
GOODBYE = """\
Everything was as it must be. Logs, consoles and evidence stay in {state}
By hand: ./dev lab up, and docs/labs.md says how to go on."""
ABOUT_QUICK, ABOUT = "it takes some eight minutes", "it takes some ten minutes"
LOOK_S = 1.0
RULE = "-" * 72
OWN = "of-the-demo"
"""Lies in the rack's folder: what is left of a killed demo may be thrown away, a lab may not."""


@dataclass(slots=True)
class Screen:
    """What is shown of each stage, and kept for the closing table."""

    site: LabSite
    lines: list[tuple[str, float, str]] = field(default_factory=list)

    def show(self, stage: Stage) -> None:
        """Do it and print its line."""
        began = time.monotonic()
        try:
            with self._progress() if stage.is_long else nullcontext():
                seen = stage.act()
        except RackwrightError:
            say(_row(stage.name, time.monotonic() - began, "FAILED"))
            raise
        line = (stage.name, time.monotonic() - began, seen)
        self.lines.append(line)
        say(_row(*line))

    def table(self) -> str:
        """What a reader keeps."""
        total = sum(seconds for _, seconds, _ in self.lines)
        rows = [_row(*line) for line in self.lines]
        return "\n".join([RULE, *rows, RULE, _row("all of it", total, "")])

    @contextmanager
    def _progress(self) -> Iterator[None]:
        """A bar of the bytes that the agents acknowledged, while the stage runs."""
        ended: list[bool] = []
        with reporting("table") as report, ThreadPoolExecutor(1) as pool:

            def follow() -> None:
                while not ended:
                    time.sleep(LOOK_S)
                    try:
                        open_now = self.site.ask("operation", "list", "--open")["operations"]
                    except RackwrightError:  # the stage itself says what is wrong
                        continue
                    report(*going_on(open_now))

            running = pool.submit(follow)
            try:
                yield
            finally:
                ended.append(True)
                running.result()


def going_on(operations: Sequence[Mapping[str, Any]]) -> tuple[str, int, int]:
    """What is done now, and bytes of all agents together."""
    parts = [f"{e['server']} {e['kind']} {e['note']}".strip() for e in operations]
    done, total = (sum(each["progress_bytes"][n] for each in operations) for n in (0, 1))
    return " and ".join(parts) or "waiting", done, total


def _row(name: str, seconds: float, seen: str) -> str:
    return f"{name:<32} {seconds:7.1f} s  {seen}".rstrip()


def say(line: str) -> None:
    """Its output."""
    print(line, flush=True)  # noqa: T201 its output


def main(words: list[str]) -> int:
    """Run it; 0 when everything is as it must be."""
    unknown = sorted(set(words) - {"--quick", "--keep"})
    if unknown:
        say(f"USAGE: {' '.join(unknown)}: ./dev demo takes --quick, --keep and --yes")
        return Kind.INPUT.exit_code
    return play(LabSite.of(os.environ, say), words)


def play(site: LabSite, words: list[str]) -> int:
    """The same on a given rack, from nothing to nothing."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        with alone(site):
            return _run(site, words)
    except RackwrightError as error:
        say(f"{error}\n{error.detail}".rstrip())
        say(f"logs: {site.rack.paths.logs}")
        return error.exit_code
    except KeyboardInterrupt:
        say("interrupted; everything is taken down")
        return 130


def _run(site: LabSite, words: list[str]) -> int:
    quick, state = "--quick" in words, site.rack.paths.state
    say(WELCOME.format(about=ABOUT_QUICK if quick else ABOUT, state=state))
    screen = Screen(site=site)
    images = (TINY, TINY if quick else DEBIAN)
    try:
        for stage in MainJob(site=site, images=images).stages():
            screen.show(stage)
    finally:
        if "--keep" not in words:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # impatience must not leave half of it
            site.down()
    say(screen.table())
    say(GOODBYE.format(state=state))
    return 0


@contextmanager
def alone(site: LabSite) -> Iterator[None]:
    """A rack from nothing; never at the cost of a lab that somebody has up.

    Raises:
        OperatorError: LAB: another demo runs, or a lab is up that is not a demo's leftover.
    """
    paths = site.rack.paths
    with no_demo(site):
        if site.rack.processes() and not (paths.state / OWN).exists():
            text = "a lab is up, and the demo begins from nothing: ./dev lab down ends it"
            raise OperatorError(ErrorCode.LAB, text)
        site.rack.forget()
        paths.state.mkdir(parents=True)
        (paths.state / OWN).touch()
        yield


@contextmanager
def no_demo(site: LabSite) -> Iterator[None]:
    """While this lasts no demo begins.

    Raises:
        OperatorError: LAB: one is running.
    """
    cache = site.rack.paths.cache
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "demo.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise OperatorError(ErrorCode.LAB, "a demo is running") from error
        yield


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
