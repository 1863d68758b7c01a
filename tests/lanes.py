"""Two lanes side by side, one a core. `./dev test` runs this: the rack, and everything else;
`./dev check` with --unit: every other file of the unit tests, and those between them.

usage: python -m tests.lanes [--all | --unit] [PYTEST ARGUMENT...]
"""

import re
import subprocess
import sys
import threading
import time
from pathlib import Path

LANES = {"rack": ["-m", "rack and not rack_long"], "rest": ["-m", "not rack and not rack_long"]}
LANES_OF_ALL = {"rack": ["-m", "rack or rack_long"], "rest": LANES["rest"]}
UNIT = Path(__file__).with_name("unit")
COUNTED = re.compile(r"(\d+) (passed|failed|errors?|skipped)")


class Lane:
    """One pytest, its lines shown as they come, with the lane's name before them."""

    def __init__(self, name: str, words: list[str]) -> None:
        self.name, self.counts, self.began = name, dict[str, int](), time.monotonic()
        argv = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *words]
        pipe, merged = subprocess.PIPE, subprocess.STDOUT
        self.child = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=pipe, stderr=merged, text=True
        )
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def _read(self) -> None:
        assert self.child.stdout is not None
        for line in self.child.stdout:
            print(f"{self.name} | {line}", end="", flush=True)
            if re.search(r" in [\d.]+s", line):
                self.counts = {what: int(count) for count, what in COUNTED.findall(line)}

    def end(self) -> int:
        """Its exit status; nothing collected is a failure too."""
        status = self.child.wait()
        self.reader.join()
        seconds = time.monotonic() - self.began
        print(f"{self.name} | ended with {status} after {seconds:.0f} s", flush=True)
        return status


def halves() -> dict[str, list[str]]:
    """The files of the unit tests; neighbours cost alike, so they go to different lanes."""
    files = sorted(str(path) for path in UNIT.rglob("test_*.py"))
    return {"odd": files[0::2], "even": files[1::2]}


def main(words: list[str]) -> int:
    """Both lanes; 0 when both are green."""
    chosen = halves() if "--unit" in words else LANES_OF_ALL if "--all" in words else LANES
    rest = [word for word in words if word not in {"--all", "--unit"}]
    lanes = [Lane(name, [*mine, *rest]) for name, mine in chosen.items()]
    try:
        statuses = [lane.end() for lane in lanes]
    except KeyboardInterrupt:
        for lane in lanes:  # they heard it too, and take their racks down
            lane.child.wait()
        return 130
    passed = sum(lane.counts.get("passed", 0) for lane in lanes)
    failed = sum(
        lane.counts.get(what, 0) for lane in lanes for what in ("failed", "error", "errors")
    )
    print(f"{passed} passed, {failed} failed", flush=True)
    return max(statuses)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
