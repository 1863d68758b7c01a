"""The agent's way to start a tool: ended at its limit, with everything it started."""

import time
from pathlib import Path

from provisioner.agent.tool import NOT_THERE, TOO_LONG, run_tool


def test_status_output_and_complaint_are_told_apart():
    ended = run_tool(["sh", "-c", "echo out; echo  two  lines >&2; exit 3"], 10)
    assert (ended.status, ended.text()) == (3, "out\n")
    assert ended.why() == "status 3: two lines"


def test_raw_bytes_come_through():
    assert run_tool(["printf", r"\000\377"], 10).output == b"\x00\xff"


def test_a_tool_that_is_not_there_is_a_status():
    assert run_tool(["no-such-tool"], 10).status == NOT_THERE


def test_the_environment_is_small_and_fixed():
    names = {line.split("=")[0] for line in run_tool(["env"], 10).text().splitlines()}
    assert names == {"PATH", "LC_ALL"}


def test_at_the_limit_the_tool_and_its_children_are_gone(tmp_path):
    begun = time.monotonic()
    ended = run_tool(["sh", "-c", f"sleep 60 & echo $! > {tmp_path}/child; wait"], 0.5)
    assert ended.status == TOO_LONG
    assert time.monotonic() - begun < 5
    child = Path("/proc", (tmp_path / "child").read_text().strip())
    assert _over(child)


def _over(child):
    """Gone, or dead and waiting for whoever adopts it."""
    until = time.monotonic() + 5
    while time.monotonic() < until:
        try:
            if (child / "stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.05)
    return False
