"""docs/states.md, from the one table of moves. Pure."""

from provisioner.servers.model import State
from provisioner.servers.states import FOLLOWS, MOVES, SATISFIED, Ending, Intent

MEANING = {
    State.ENROLLED: "Known by name; nothing was touched. At rest.",
    State.VERIFYING: "Its controller is asked who it is.",
    State.INSPECTING: "The agent looks what it is made of.",
    State.CLEANING: "Its disks are being erased before the first tenant.",
    State.AVAILABLE: "Clean, off, its port in quarantine. At rest.",
    State.RESERVED: "Kept for an instance; not powered yet. At rest.",
    State.DEPLOYING: "An image is being installed.",
    State.ACTIVE: "A tenant has it.",
    State.RELEASING: "Given back: off, wiped, proven.",
    State.RESCUE: "A rescue system runs for its tenant, who has it as in ACTIVE.",
    State.QUARANTINED: "Off, cut off, dirty, with a reason; a person must look. At rest.",
    State.RETIRED: "Out of service. At rest.",
}


def page() -> str:
    """The whole page."""
    lines = [
        "# States of a server",
        "",
        "Generated from provisioner/servers/states.py. Power, maintenance, health and dirty are",
        "fields of their own, not states.",
        "",
        "| state | meaning |",
        "|---|---|",
        *(f"| {state} | {MEANING[state]} |" for state in State),
        "",
        "## Moves",
        "",
        "What is not listed is a conflict, or a no-op where the server already is as wanted.",
        "",
        "| from | intent | while it runs | " + " | ".join(Ending) + " |",
        "|---|---|---|" + "---|" * len(Ending),
    ]
    for (state, intent), move in MOVES.items():
        ends = " | ".join(str(move.ends[ending]) for ending in Ending)
        lines.append(f"| {state} | {intent} | {move.during} | {ends} |")
    lines += [
        "",
        "Endings: `done`; `input`, the request was wrong and power was not touched; `ours`, our",
        "side failed; `machine`, the machine failed or nobody can tell; `person`, a person must",
        "decide.",
        "",
        "## What follows by itself",
        "",
        "Opened in the transaction that ends the operation before it.",
        "",
        "| after | ending | opens |",
        "|---|---|---|",
        *(f"| {intent} | {ending} | {next_} |" for (intent, ending), next_ in FOLLOWS.items()),
        "",
        "## Where an intent is already fulfilled",
        "",
        "| intent | states |",
        "|---|---|",
        *(
            f"| {intent} | {', '.join(sorted(SATISFIED[intent])) or 'none: asked anew each time'} |"
            for intent in Intent
        ),
    ]
    return "\n".join(lines) + "\n"
