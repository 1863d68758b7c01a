"""One run of the suite over a script, in a folder of its own."""

import asyncio

from cloudstack_ext.conformance.model import CHECKS, Outcome
from cloudstack_ext.conformance.stage import Wishes, make_stage
from cloudstack_ext.conformance.suite import run
from provisioner.adapters.clock import SystemClock

WISHES = Wishes(
    host={"pool": "a"},
    template={"image": "debian"},
    wait_s=12,
    patience_s=4.0,
    kill_after_s=0.5,
    status_s=1.5,
    delete_s=3.0,
)


def judged(text, folder, nursery, checks=CHECKS):
    """Name of each check -> its result."""
    (folder / "machines").mkdir(parents=True)
    script = folder / "extension"
    script.write_text(text)
    script.chmod(0o755)
    stage = make_stage([str(script)], folder / "payloads", SystemClock(), WISHES, nursery.door())
    results = asyncio.run(run(stage, lambda _: None, checks))
    return {each.name: each for each in results}


def failed(results):
    return {name for name, each in results.items() if each.outcome is Outcome.FAILED}
