"""The allocation model: every verb in every phase."""

import shutil

import pytest

from tests.unit.operations.asking import (
    PHASES,
    outcome,
)
from tests.unit.operations.world import World

STAYS = "its server is in quarantine and stays there, not wiped, until somebody looks"

WHOLE = {
    "prepare": {
        "unknown": "s1",
        "reserved": "s1",
        "deploying": "s1",
        "half-deployed": "s1",
        "failed": "s2",
        "never created": "INSTANCE_DELETED",
        "active": "s1",
        "unheard of": "s1",
        "quarantined": "s1",
        "still running": "s1",
        "deleted": "INSTANCE_DELETED",
        "released": "INSTANCE_DELETED",
    },
    "create": {
        "unknown": "DEADLINE",
        "reserved": "DEADLINE",
        "deploying": "DEADLINE",
        "half-deployed": "running on s1",
        "failed": "AGENT_SILENT",
        "never created": "INSTANCE_DELETED",
        "active": "DEADLINE",
        "unheard of": "DEADLINE",
        "quarantined": "INSTANCE_QUARANTINED",
        "still running": "INSTANCE_QUARANTINED",
        "deleted": "INSTANCE_DELETED",
        "released": "INSTANCE_DELETED",
    },
    "start": {
        "unknown": "INSTANCE_UNKNOWN",
        "reserved": "INSTANCE_BUSY",
        "deploying": "INSTANCE_BUSY",
        "half-deployed": "INSTANCE_BUSY",
        "failed": "INSTANCE_ENDED",
        "never created": "INSTANCE_DELETED",
        "active": "DEADLINE",
        "unheard of": "DEADLINE",
        "quarantined": "INSTANCE_QUARANTINED",
        "still running": "INSTANCE_QUARANTINED",
        "deleted": "INSTANCE_DELETED",
        "released": "INSTANCE_DELETED",
    },
    "stop": {
        "unknown": "nothing to stop",
        "reserved": "not installed yet: nothing was touched",
        "deploying": "not installed yet: nothing was touched",
        "half-deployed": "DEADLINE",
        "failed": "nothing to stop",
        "never created": "nothing to stop",
        "active": "DEADLINE",
        "unheard of": "not installed yet: nothing was touched",
        "quarantined": "off: its server is quarantined",
        "still running": "INSTANCE_QUARANTINED",
        "deleted": "nothing to stop",
        "released": "nothing to stop",
    },
    "delete": {
        "unknown": "no server to give back",
        "reserved": "the server was given back",
        "deploying": "the release goes on in the background",
        "half-deployed": "the release goes on in the background",
        "failed": "no server to give back",
        "never created": "no server to give back",
        "active": "the release goes on in the background",
        "unheard of": "the release goes on in the background",
        "quarantined": STAYS,
        "still running": STAYS,
        "deleted": "no server to give back",
        "released": "no server to give back",
    },
}


@pytest.fixture(scope="session")
def folders(free_template, active_template, tmp_path_factory):
    """A phase's folder, made once."""
    made, templates = {}, {"world": free_template, "active": active_template}

    def folder(phase):
        if phase not in made:
            template, bring = PHASES[phase]
            path = tmp_path_factory.mktemp("phase") / "state"
            world = World(shutil.copytree(templates[template], path))
            bring(world)
            world.close()
            made[phase] = path
        return made[phase]

    return folder


PAIRS = [(verb, phase) for verb in WHOLE for phase in PHASES] + [
    ("reboot", phase) for phase in ("unknown", "deploying", "active", "quarantined", "deleted")
]


@pytest.mark.parametrize(("verb", "phase"), PAIRS)
def test_every_verb_in_every_phase(folders, tmp_path, verb, phase):
    world = World(shutil.copytree(folders(phase), tmp_path / "state"))
    found = outcome(world, verb)
    calls, moves = world.machines["s1"].calls, world.ports.moves
    world.close()
    assert found == WHOLE["start" if verb == "reboot" else verb][phase]
    # verbs write intents: whoever walks operations acts
    assert (calls, moves) == ([], [])
