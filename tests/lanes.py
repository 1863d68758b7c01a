"""Two lanes side by side, one a core. `./dev test` runs this: the rack, and everything else,
`./dev check` with --unit: every other file of the unit tests, and those between them.

usage: python -m tests.lanes [--all | --unit] [PYTEST ARGUMENT...]
"""

import re
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

TESTS = Path(__file__).parent
UNIT = TESTS / "unit"
ON_RACK, ON_RACK_LONG = ["-m", "rack and not rack_long"], ["-m", "rack or rack_long"]
OFF_RACK = ["-m", "not rack and not rack_long"]
#: What pytest ends with when somebody interrupts it.
INTERRUPTED = 2
COUNTED = re.compile(r"(\d+) (passed|failed|errors?|skipped)")


class Lane:
    """One pytest after another, their lines shown as they come, the lane's name before them."""

    def __init__(self, name: str, runs: list[list[str]]) -> None:
        self.name, self.runs, self.began = name, runs, time.monotonic()
        self.counts, self.statuses = Counter[str](), list[int]()
        self.runner = threading.Thread(target=self._run)
        self.runner.start()

    def _run(self) -> None:
        for words in self.runs:
            argv = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *words]
            with subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            ) as child:
                self._read(child.stdout or [])
            self.statuses.append(child.returncode)
            if child.returncode == INTERRUPTED:
                return

    def _read(self, lines: Iterable[str]) -> None:
        for line in lines:
            print(f"{self.name} | {line}", end="", flush=True)
            if re.search(r" in [\d.]+s", line):
                self.counts.update({what: int(count) for count, what in COUNTED.findall(line)})

    def end(self) -> int:
        """0 when each run was green; nothing collected, killed and not run at all are not."""
        self.runner.join()
        seconds = time.monotonic() - self.began
        status = next((abs(bad) for bad in self.statuses if bad), 0)
        status = status or int(len(self.statuses) < len(self.runs))
        print(f"{self.name} | ended with {status} after {seconds:.0f} s", flush=True)
        return status


def halves() -> dict[str, list[str]]:
    """The files of the unit tests; neighbours cost alike, so they go to different lanes."""
    files = sorted(str(path) for path in UNIT.rglob("test_*.py"))
    return {"odd": files[0::2], "even": files[1::2]}


def lanes_of(words: list[str]) -> dict[str, list[list[str]]]:
    """What each lane runs; the rack's is the shorter one, so it takes half of the unit tests."""
    unit = halves()
    if "--unit" in words:
        return {name: [files] for name, files in unit.items()}
    rack = ON_RACK_LONG if "--all" in words else ON_RACK
    others = sorted(str(path) for path in TESTS.iterdir() if path.is_dir() and path != UNIT)
    return {
        "rack": [rack, [*OFF_RACK, *unit["odd"]]],
        "rest": [[*OFF_RACK, *others, *unit["even"]]],
    }


def main(words: list[str]) -> int:
    """Both lanes; 0 when both are green."""
    more = [word for word in words if word not in {"--all", "--unit"}]
    lanes = [Lane(name, [[*run, *more] for run in runs]) for name, runs in lanes_of(words).items()]
    try:
        statuses = [lane.end() for lane in lanes]
    except KeyboardInterrupt:
        for lane in lanes:  # their tests heard it too, and take their racks down
            lane.runner.join()
        return 130
    passed = sum(lane.counts["passed"] for lane in lanes)
    failed = sum(lane.counts[what] for lane in lanes for what in ("failed", "error", "errors"))
    print(f"{passed} passed, {failed} failed", flush=True)
    return max(statuses)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
