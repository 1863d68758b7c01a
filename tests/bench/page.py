"""docs/performance.md out of docs/performance.json: one recorded run of `./dev bench`."""

HEAD = """# How fast

Every figure was measured by `./dev bench` beside its peer or its limit in the same run, in turn
with it. This page shows one whole run, on the machine named at its end. Make your own:

    ./dev bench --output json > docs/performance.json
    python -m tests.generate

A figure is a median; behind it the least and the most. The peer has the same duties: what we
digest it digests, what we flush it flushes.
"""
NOTES = """
## What is compared

* **status**: a process that does nothing else starts the entry, waits for its end and reads its
  line, over the socket, over HTTPS, and a bare Python in turn, while 20 deployments on fakes are
  running.
* **image write**: 8 GiB with 1 GiB of data onto a loop device, HTTP on loopback. Ours checks the
  digest of every block and leaves zeros in the holes; the chain checks one digest over the packed
  image and writes every byte; bmaptool checks its ranges and leaves in the holes what was there.
* **kernel's start to the agent's call-in**: seconds of the kernel's own clock in a machine without
  acceleration; what passes before it (loading kernel and ramdisk) is shown apart.
* **overwrite, verification**: the agent's own functions on a file; eight disks are block devices of
  a fixed speed, so that they and not this machine are the limit.
* **kill -9**: SIGKILL to the service's process group, the pause that its systemd unit has, start,
  until an act is done again at the outside; then with 20 deployments, until all wait again.
"""


def page(run):
    """The whole page of one recorded run."""
    return "\n".join([HEAD, *_figures(run["figures"]), NOTES, *_machine(run["machine"]), ""])


def _figures(figures):
    yield "| figure | ours | peer | ratio | limit | n |"
    yield "|---|---|---|---|---|---|"
    for each in figures:
        spread, unit = each["spread"], each["unit"]
        peer = "-"
        if each["peer"]:
            peer = f"{each['peer']}: {_with(each['peer_value'], spread['peer_value'], unit)}"
        limit = f"{each['limit']}: {'holds' if each['holds'] else '**does not hold**'}"
        cells = [
            each["name"],
            _with(each["value"], spread["value"], unit),
            peer,
            "-" if each["ratio"] is None else f"{each['ratio']:g}",
            limit if each["limit"] else "-",
            str(each["n"]),
        ]
        yield f"| {' | '.join(cells)} |"
    yield "\n## The commands\n"
    for each in figures:
        yield f"* {each['name']}\n  * ours: ``{each['command']}``"
        if each["peer_command"]:
            yield f"  * peer: ``{each['peer_command']}``"


def _with(value, spread, unit):
    return f"{value:g} {unit} ({spread[0]:g} to {spread[1]:g})"


def _machine(machine):
    yield "## The machine\n"
    yield "| | |\n|---|---|"
    for key, value in machine.items():
        yield f"| {key} | {value} |"
