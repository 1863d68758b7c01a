"""The main job for everyone to see. Run by `./dev demo`.

One line a stage with its seconds, a bar of what agents acknowledged, a closing table; ends
non-zero when anything is not as it must be.
"""

import os
import signal
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field

from cloudstack_ext.lab.site import DEBIAN, LabSite
from cloudstack_ext.lab.stages import TINY, MainJob, Stage
from provisioner.cli.progress import reporting
from provisioner.errors import RackwrightError

LOOK_S = 1.0
RULE = "-" * 72


@dataclass(slots=True)
class Screen:
    """What is shown of each stage, and kept for the closing table."""

    site: LabSite
    lines: list[tuple[str, float, str]] = field(default_factory=list)

    def show(self, stage: Stage) -> None:
        """Do it and print its line."""
        began = time.monotonic()
        with self._progress() if stage.is_long else nullcontext():
            seen = stage.act()
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
                    open_now = self.site.ask("operation", "list", "--open")["operations"]
                    sums = [each["progress_bytes"] for each in open_now]
                    done, total = (sum(each[n] for each in sums) for n in (0, 1))
                    names = " and ".join(f"{e['server']} {e['kind']}" for e in open_now)
                    report(names or "waiting", done, total)
                    time.sleep(LOOK_S)

            running = pool.submit(follow)
            try:
                yield
            finally:
                ended.append(True)
                running.result()


def _row(name: str, seconds: float, seen: str) -> str:
    return f"{name:<32} {seconds:7.1f} s  {seen}".rstrip()


def say(line: str) -> None:
    """Its output."""
    print(line, flush=True)  # noqa: T201 its output


def main(words: list[str]) -> int:
    """Run it; 0 when everything is as it must be."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    site = LabSite.of(os.environ, say)
    screen = Screen(site=site)
    site.rack.forget()
    try:
        images = (TINY, TINY if "--quick" in words else DEBIAN)
        for stage in MainJob(site=site, images=images).stages():
            screen.show(stage)
    except RackwrightError as error:
        say(f"{error}\n{error.detail}".rstrip())
        return error.exit_code
    except KeyboardInterrupt:
        say("interrupted; cleaning up")
        return 130
    finally:
        if "--keep" not in words:
            site.down()
    say(screen.table())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
