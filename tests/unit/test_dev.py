"""`./dev`: what deletes asks first, and wrong usage ends as everywhere."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cloudstack_ext.lab.cloudstack import LabCloudStack

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


@pytest.mark.parametrize(("whose", "status"), [("ours", 64), ("another's", 0)])
def test_the_cache_stays_while_an_api_server_runs_from_it(tmp_path, whose, status):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "ip").symlink_to("/bin/true")
    kept, other = (
        tmp_path / "cache" / "rackwright" / "cloudstack",
        tmp_path / "rackwright/cloudstack",
    )
    kept.mkdir(parents=True)
    ready = (kept if whose == "ours" else other) / "ready.json"
    words = [sys.executable, "-c", "input()", "--ready", str(ready)]
    paths = {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}", "XDG_CACHE_HOME": f"{tmp_path}/cache"}
    with subprocess.Popen(words, stdin=subprocess.PIPE) as server:
        done = subprocess.run(
            [ROOT / "dev", "clean"],
            env=os.environ | paths,
            capture_output=True,
            text=True,
            check=False,
        )
        server.communicate(b"\n")
    assert done.returncode == status, done.stderr
    assert kept.exists() == (status == 64)
    assert ("./dev lab cloudstack down" in done.stderr) == (status == 64)


def test_the_api_server_is_known_by_the_file_that_it_is_told_to_write(tmp_path):
    """What `./dev clean` looks for among the processes."""
    lab = LabCloudStack.of({"XDG_CACHE_HOME": str(tmp_path)})
    lab.up(None, "before")
    try:
        pid = json.loads((lab.folder / "ready.json").read_text())["pid"]
        words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    finally:
        lab.down()
    assert f"{tmp_path}/rackwright/cloudstack/ready.json" in words


def test_a_figure_that_is_none_is_wrong_usage():
    words = [sys.executable, "-m", "tests.bench", "--only", "nope"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 64
    assert done.stderr.startswith("USAGE: ")
    assert done.stderr.count("\n") == 1
