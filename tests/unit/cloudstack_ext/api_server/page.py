"""docs/cloudstack-api-server.md: what the server is, what it answers, what it does not."""

import textwrap

from cloudstack_ext.api_server.commands import known_commands
from cloudstack_ext.api_server.handlers import HANDLERS
from tests.unit.cloudstack_ext.api_server.left_out import LEFT_OUT
from tests.unit.cloudstack_ext.api_server.normalised import ABSENT, ANY, CUT
from tests.unit.cloudstack_ext.api_server.recorded import pairs

INTRODUCTION = """\
# CloudStack's API, for trying things out

An API server that behaves as a management server 4.22 was seen to: it checks signatures and rights,
keeps its state in memory, runs asynchronous jobs, and fails as it is told to. It is not CloudStack:
no virtual machine, no network and no host stands behind it. Registration, the demo and the tests
speak to it as they speak to the real one.

    rackwright lab cloudstack up --output json
    rackwright lab cloudstack status
    rackwright lab cloudstack down

`up` needs neither root nor the rack. It prints one document, version 1:

| field | what |
|---|---|
| `endpoint` | for any client of CloudStack's API, by GET or POST |
| `key`, `secret` | of a root admin |
| `calls` | file of the call log: one JSON object a line |

A line of the log has `number` (from 1), `at`, `command`, `parameters` (secrets hidden), `account`
(null: nobody's key), `outcome` ("answered", "refused", "cut before", "cut after", "false answer"),
`acted`, `error` and `job`. `down` ends it, and what it knew is gone; the log stays until the next
`up`. End it before you remove the cache.

`up --fail-call 7 --when after` gives the seventh call no answer, after it has been done; `--when
before` without doing it. A server that runs with other options is ended and another one started,
with new keys and nothing in it.

## In tests

`ApiServer` of `cloudstack_ext/api_server/server.py` is a context manager: `endpoint`, `key` and
`keys` (users `admin`, `dadmin`, `alice`, `bob`), `state` to set up and look at under its lock,
`faults` to make it fail, `calls` for what was called. After `stop` and another `start` it has the
same endpoint and knows all that it knew. A fault meets one call, some, or all until it is taken
away:

| fault | what the caller meets |
|---|---|
| `CUT` | the connection ends, before or after the server has acted |
| `SILENT` | no answer |
| `ERROR` | any of CloudStack's errors: 401, 430, 431, 432, 530, 531, 533, 535 |
| `NOT_JSON` | a page of HTML, as a proxy in between answers |
| `EMPTY` | 200 with an empty list, whatever there is |
| `ENDLESS_JOB` | a job that never ends |
| `JOB_WITHOUT_RESULT` | a job that ends without one, as after a restart of the management server |
| `JOB_FAILS` | a job that fails |

Whoever passes `extension` plays the extension of every host: it is asked to deploy, start, stop,
reboot, delete and to run custom actions, from a thread of its own. Without it all of that succeeds.

## As it was seen

The behaviour that nobody would guess has a test each in
`tests/unit/cloudstack_ext/api_server/test_behaviour.py`, readiness of paths in
`tests/unit/cloudstack_ext/api_server/test_path_ready.py`, faults in
`tests/unit/cloudstack_ext/api_server/test_faults.py`. Every recorded answer of a command below is
compared with ours in `tests/unit/cloudstack_ext/api_server/test_recorded_pairs.py`: the state is
set up, the recorded request is sent, and the answers are equal but for what the next tables name.
"""
DIFFERENCES = {
    "a role of one's own allows what its rules allow": (
        "CloudStack also allows commands that name the role's type in their own code, unless a"
        " rule denies them (read in its source); with a last rule `*` deny it is as here"
    ),
    "an effect is there at once, the job's end comes after it": "both come when the job ends",
    "settings are stored and listed": "they change what the server does",
    "destroyed instances stay until they are expunged": "they go after `expunge.delay`",
    "without a tag the planner takes the first host": "a random one of the first cluster",
    "hosts and templates are External, offerings have no vGPU profile": (
        "there are other hypervisors, GPU cards and devices"
    ),
    "one template more than an account may have is refused with the words recorded of a GPU more": (
        "made by the same code (read), not recorded"
    ),
    "errors that nobody has recorded have words and numbers of our own": "its own",
}
COMPARED = "With the number of recorded answers that ours are compared with: "
UNCOMPARED = "Without any: their answers follow the names of the response's fields alone. "
MISSING = (
    "These commands of CloudStack are known and not answered: 432, as for a command that the key"
    " may not call. "
)
UNKNOWN = """\
Any other name is answered with 401, as CloudStack answers a signed call of a command that it does
not know.
"""


def page():
    """The whole page."""
    return "\n".join(
        (
            INTRODUCTION,
            _table("Differs by nature, not compared", ("field", "why"), ANY.items()),
            _table("Recorded, not in our answers", ("field", "why"), ABSENT.items()),
            _table("Lists that are cut in the recording", ("field", "why"), CUT.items()),
            _table("Recorded pairs that are left out", ("pair", "why"), LEFT_OUT.items()),
            _differences(),
            _served(),
            _not_served(),
        )
    )


def _table(title, heads, rows):
    lines = [f"### {title}\n", f"| {' | '.join(heads)} |", "|---|---|"]
    return "\n".join([*lines, *(f"| `{name}` | {why} |" for name, why in sorted(rows)), ""])


def _differences():
    lines = ["## What is different\n", "| here | there |", "|---|---|"]
    return "\n".join(
        [*lines, *(f"| {ours} | {theirs} |" for ours, theirs in DIFFERENCES.items()), ""]
    )


def _served():
    compared = dict.fromkeys(HANDLERS, 0)
    for name, pair in pairs().items():
        if name not in LEFT_OUT and pair["request"]["command"] in compared:
            compared[pair["request"]["command"]] += 1
    with_pairs = [f"`{name}` ({count})" for name, count in sorted(compared.items()) if count]
    without = [f"`{name}`" for name, count in sorted(compared.items()) if not count]
    return f"## What is answered\n\n{_filled(COMPARED, with_pairs)}\n{_filled(UNCOMPARED, without)}"


def _not_served():
    missing = [f"`{name}`" for name in sorted(set(known_commands()) - set(HANDLERS))]
    return f"## What is not there\n\n{_filled(MISSING, missing)}\n{UNKNOWN}"


def _filled(sentence, names):
    text = f"{sentence}{', '.join(names)}."
    return f"{textwrap.fill(text, 100, break_on_hyphens=False)}\n"
