"""Our own extension passes the suite: the real service and the real entry, a rack of fakes."""

import asyncio
import os
import tempfile
from pathlib import Path

import pytest

from cloudstack_ext.conformance.model import CHECKS, Outcome
from cloudstack_ext.conformance.stage import Wishes, make_stage
from cloudstack_ext.conformance.suite import run
from provisioner.adapters.clock import SystemClock
from tests.service.entry.rig import ENTRY
from tests.service.faults.site import Site

pytestmark = pytest.mark.emulated
SERVERS = ("s1", "s2", "s3")
WISHES = Wishes(
    host={"pool": "a", "host": "conformance"},  # the label, as `statuses` asks for it
    template={"image": "tiny"},
    wait_s=120,
    patience_s=60.0,
    kill_after_s=1.0,
)


@pytest.fixture
def site():
    with tempfile.TemporaryDirectory(prefix="rwf-") as folder:
        made = Site(Path(folder), SERVERS)
        with made.config.open("a") as config:  # it gives back more in an hour than a pool may
            config.write("[release]\nat_most_per_hour = 1000\n")
        try:
            made.furnish()
            made.start()
            yield made
            made.assert_no_traceback()
        finally:
            made.close()


def test_our_extension_passes_every_check(site):
    argv = ["/usr/bin/env", f"RACKWRIGHT_ENTRY_CONFIG={site.entry_config}", os.fspath(ENTRY)]
    stage = make_stage(argv, site.folder / "payloads", SystemClock(), WISHES)
    results = asyncio.run(run(stage, lambda _: None, CHECKS))
    fails = {each.name: each.detail for each in results if each.outcome is not Outcome.PASSED}
    assert not fails, site.story(str(fails))
    assert len(results) == len(CHECKS)
