"""docs/performance.md out of docs/performance.json: one recorded run of `./dev bench`."""

HEAD = """# How fast

Every figure was measured by `./dev bench` beside its peer or its limit in the same run, in turn
with it. This page shows one whole run, on the machine named at its end. Make your own:

    ./dev bench --output json > docs/performance.json
    python -m tests.generate

A figure is a median; behind it the least and the most. The peer has the same duties: what we
digest it digests, what we flush it flushes.
"""
LIMITS = {
    "kernel's start": "a server boots the ramdisk again and again on its way to a tenant; a kernel"
    " needs what the smallest ramdisk needs, ours may add so much",
    "image write, against curl": "what people run by hand writes every byte, holes too",
    "image write, against bmaptool": "it skips holes and reads nothing back; our reading back must"
    " not make a deployment longer",
    "kill -9": "the entry asks again for 60 s and CloudStack's own retries come 0.1 s apart: a"
    " restart, with the pause of the systemd unit, is to be over long before",
    "status as CloudStack runs it": "CloudStack starts one process for each instance of a host, one"
    " after the other, every minute; the start of Python is what no entry in Python can go below"
    " ([0008](adr/0008-entry-speaks-http-by-hand.md))",
    "status, slowest of a hundred": "one slow answer holds up those of all instances behind it",
    "statuses of a pool": "one answer stands for the ping of a whole host, and it is read in one"
    " transaction",
    "status of each": "the whole ping must be over well before the next one, 60 s later"
    " (`ping.interval`), also of a host with 500 instances, which is the most",
    "cloudstack plan": "somebody waits for it at a terminal, and asks again after each correction",
    "overwrite": "a disk that is overwritten is to be as busy as its own `dd` keeps it",
    "verification": "reading samples back must not make a wipe noticeably longer",
    "eight disks": "the slowest disk is the wipe's length; the others are overwritten beside it",
}
"""Why a limit is what it is, by the beginning of the names of its figures."""
NOTES = """
## What is compared

* **status**: a process that does nothing else starts the entry, waits for its end and reads its
  line, over the socket, over HTTPS with a client certificate, and a bare Python in turn, while 20
  deployments on fakes are running.
* **statuses, status of each**: 200 servers that were adopted and started belong to 200 instances of
  one host; controllers are fakes, service, database and entry are not, and the database has the
  power readings of an hour. The same process asks for all at once, for each in turn, again for all,
  and starts as many bare Pythons. What both verbs say of an instance is compared.
* **cloudstack plan**: the service has 1,000 servers with the facts of their hardware in 20 pools;
  the file wants a host and an offering for each pool, five templates and all custom actions.
  Counted is the process from its start to its end, less the time between the last byte of each
  request to CloudStack's API and the last byte of its answer, as a relay before the API server
  sees them pass. So our own service counts, and CloudStack does not. The peer is a program that
  does nothing but the same calls, measured likewise.
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
    yield "\n## Limits, and where they come from\n"
    yield "They are requirements that were set before anything was measured.\n"
    for each in figures:
        if each["limit"]:
            yield f"* {each['name']}: {each['limit']}. Because {why(each['name'])}."
    yield "\n## The commands\n"
    for each in figures:
        yield f"* {each['name']}\n  * ours: ``{each['command']}``"
        if each["peer_command"]:
            yield f"  * peer: ``{each['peer_command']}``"


def why(name):
    """Why the figure of this name has the limit that it has."""
    return next(text for begins, text in LIMITS.items() if name.startswith(begins))


def _with(value, spread, unit):
    return f"{value:g} {unit} ({spread[0]:g} to {spread[1]:g})"


def _machine(machine):
    yield "## The machine\n"
    yield "| | |\n|---|---|"
    for key, value in machine.items():
        yield f"| {key} | {value} |"
