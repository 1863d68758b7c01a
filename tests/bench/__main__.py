"""`./dev bench [--output json] [--only NAME]`: every figure beside its peer or limit.

Each module that measures has `figures()`. A figure that does not hold is shown and ends the
run with status 1. docs/performance.md has them as measured, with the machine.
"""

import argparse
import contextlib
import importlib
import json
import os
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from tests.bench.figure import table

VERSION = 1
MEASURED = ("boot", "image_write", "memory", "ping", "plan", "resume", "status", "wipe")
TOOLS = (
    ("/usr/bin/python3", "--version"),
    ("curl", "--version"),
    ("zstd", "--version"),
    ("dd", "--version"),
    ("bmaptool", "--version"),
    ("nginx", "-v"),
    ("nbdkit", "--version"),
    ("qemu-system-x86_64", "--version"),
    ("busybox",),
)


class Parser(argparse.ArgumentParser):
    """Wrong usage ends as that of every command of ours does."""

    def error(self, message):
        self.exit(64, f"USAGE: {message}\n")


def main():
    parser = Parser(prog="./dev bench", description=__doc__.splitlines()[0])
    parser.add_argument("--output", choices=("table", "json"), default="table")
    parser.add_argument("--only", choices=MEASURED, action="append", help="as often as you like")
    chosen = parser.parse_args()
    measured_on, figures = machine(), []
    for name in MEASURED:
        if chosen.only and name not in chosen.only:
            continue
        print(f"measuring {name}", file=sys.stderr, flush=True)
        # what agents on fakes print meanwhile is no figure
        with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):
            measured = importlib.import_module(f"tests.bench.{name}").figures()
        figures += measured
        if chosen.output == "table":
            for figure in measured:
                print(*table(figure), sep="\n", flush=True)
    if chosen.output == "json":
        shown = [figure.to_json() for figure in figures]
        json.dump(
            {"version": VERSION, "machine": measured_on, "figures": shown}, sys.stdout, indent=1
        )
        print()
    else:
        print(*(f"{key}: {value}" for key, value in measured_on.items()), sep="\n")
    return 0 if all(figure.holds for figure in figures) else 1


def machine():
    """Where this was measured, and by which versions."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.partition(": ")[2] for line in lines if line.startswith("model name")), "")
    memory = Path("/proc/meminfo").read_text().split()[1]
    return {
        "processor": f"{os.cpu_count()} x {model}",
        "memory_bytes": int(memory) * 1024,
        "kernel": platform.release(),
        "load_before": " ".join(f"{each:.2f}" for each in os.getloadavg()),
        "python": platform.python_version(),
        "cs": metadata.version("cs"),
        **{argv[0].rpartition("/")[2]: version(argv) for argv in TOOLS},
    }


def version(argv):
    try:
        ended = subprocess.run(argv, capture_output=True, text=True, timeout=20, check=False)
    except FileNotFoundError:
        return "not installed"
    return (ended.stdout + ended.stderr).strip().partition("\n")[0]


if __name__ == "__main__":
    sys.exit(main())
