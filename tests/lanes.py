"""Two lanes side by side, one a core: the rack, and everything else. `./dev test` runs this.

usage: python -m tests.lanes [--all] [PYTEST ARGUMENT...]
"""

import re
import subprocess
import sys
import threading
import time

LANES = {"rack": "rack and not rack_long", "rest": "not rack and not rack_long"}
LANES_OF_ALL = {"rack": "rack or rack_long", "rest": "not rack and not rack_long"}
COUNTED = re.compile(r"(\d+) (passed|failed|errors?|skipped)")


class Lane:
    """One pytest, its lines shown as they come, with the lane's name before them."""

    def __init__(self, name: str, marks: str, words: list[str]) -> None:
        self.name, self.counts, self.began = name, dict[str, int](), time.monotonic()
        argv = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-m", marks, *words]
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


def main(words: list[str]) -> int:
    """Both lanes; 0 when both are green."""
    chosen = LANES_OF_ALL if "--all" in words else LANES
    rest = [word for word in words if word != "--all"]
    lanes = [Lane(name, marks, rest) for name, marks in chosen.items()]
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
