"""`./dev bench [--output json] [--only NAME]`: every figure beside its peer or limit.

Each module of this folder has `figures()`. A figure that does not hold is shown and ends the
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
from pathlib import Path

VERSION = 1
KEYS = (
    "name",
    "value",
    "unit",
    "peer",
    "peer_value",
    "ratio",
    "limit",
    "holds",
    "n",
    "spread",
    "command",
    "peer_command",
)
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


def main():
    names = sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__.splitlines()[0])
    parser.add_argument("--output", choices=("table", "json"), default="table")
    parser.add_argument("--only", choices=names, action="append", help="as often as you like")
    chosen = parser.parse_args()
    figures = []
    for name in names:
        if chosen.only and name not in chosen.only:
            continue
        print(f"measuring {name}", file=sys.stderr, flush=True)
        # whatever is printed meanwhile is no figure
        with contextlib.redirect_stdout(sys.stderr):
            measured = importlib.import_module(f"tests.bench.{name}").figures()
        for figure in measured:
            if sorted(figure) != sorted(KEYS):
                raise ValueError(f"{name}: not a figure: {sorted(figure)}")
            figures.append({key: figure[key] for key in KEYS})
            if chosen.output == "table":
                show(figures[-1])
    if chosen.output == "json":
        json.dump(
            {"version": VERSION, "machine": machine(), "figures": figures}, sys.stdout, indent=1
        )
        print()
    else:
        print("\n".join(f"{key}: {value}" for key, value in machine().items()))
    return 0 if all(figure["holds"] for figure in figures) else 1


def show(figure):
    """Ours, the peer's, and what was run, so that anybody can run it again."""
    holds = "holds" if figure["holds"] else "DOES NOT HOLD"
    limit = f"limit {figure['limit']}: {holds}" if figure["limit"] else "no limit"
    unit = figure["unit"]
    print(f"\n{figure['name']}: {figure['value']} {unit}, {limit}")
    if figure["peer"]:
        print(f"  beside {figure['peer']}: {figure['peer_value']}, ratio {figure['ratio']}")
    print(f"  n {figure['n']}, spread {figure['spread']}")
    print(f"  ours: {figure['command']}")
    if figure["peer_command"]:
        print(f"  peer: {figure['peer_command']}", flush=True)


def machine():
    """Where this was measured, and by which versions."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.partition(": ")[2] for line in lines if line.startswith("model name")), "")
    memory = Path("/proc/meminfo").read_text().split()[1]
    return {
        "processor": f"{os.cpu_count()} x {model}",
        "memory_bytes": int(memory) * 1024,
        "kernel": platform.release(),
        "load": " ".join(f"{each:.2f}" for each in os.getloadavg()),
        "python": platform.python_version(),
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
