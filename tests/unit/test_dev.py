"""`./dev`: what deletes asks first, and wrong usage ends as everywhere."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.emulated
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("names", "status"), [("rackwright-rack (id: 0)", 64), ("other\\nmy-rackwright", 0), ("", 0)]
)
def test_the_cache_stays_while_a_rack_runs_from_it(tmp_path, names, status):
    (tmp_path / "bin").mkdir()
    ip = tmp_path / "bin" / "ip"
    ip.write_text(f"#!/bin/sh\nprintf '{names}\\n'\n")
    ip.chmod(0o755)
    kept = tmp_path / "cache" / "rackwright" / "kept"
    kept.mkdir(parents=True)
    paths = {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}", "XDG_CACHE_HOME": f"{tmp_path}/cache"}
    done = subprocess.run(
        [ROOT / "dev", "clean"], env=os.environ | paths, capture_output=True, text=True, check=False
    )
    assert done.returncode == status, done.stderr
    assert kept.exists() == (status == 64)
    assert done.stderr.count("\n") == 1
    assert ("./dev lab down" in done.stderr) == (status == 64)


def test_a_figure_that_is_none_is_wrong_usage():
    words = [sys.executable, "-m", "tests.bench", "--only", "nope"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 64
    assert done.stderr.startswith("USAGE: ")
    assert done.stderr.count("\n") == 1
