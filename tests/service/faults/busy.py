"""A service on fakes with 20 deployments under way, for measuring."""

import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from tests.service.faults.site import Site

DEPLOYMENTS = 20
TENANT = "tenant"
"""The instance whose system runs on the first server; `status` is asked for it."""
IMAGE_S = 1200.0
"""Longer than anything that is measured; the agents report their progress meanwhile."""
PRODUCT_TIMES = {"power_read_s": 15.0, "power_read_moving_s": 5.0}
"""As they are unless configured otherwise."""


@contextmanager
def quiet_site(*, servers=1 + DEPLOYMENTS, more=(), host=None):
    """Started; a tenant's system runs on the first server, all others are free.

    Args:
        servers: That come through their whole walk.
        more: Names of further machines, which nobody has enrolled yet.
        host: As Site has it.
    """
    folder = Path(tempfile.mkdtemp(prefix="rwb-"))
    names = [f"s{number:02}" for number in range(servers)]
    site = Site(folder, [*names, *more])
    site.host = host
    try:
        site.furnish(names)
        site.configure(**PRODUCT_TIMES)
        site.start()
        answer = site.call("create", TENANT)
        assert answer.exit == 0, answer.text
        yield site
    finally:
        site.close()
        shutil.rmtree(folder)


@contextmanager
def busy(site):
    """20 deployments write their images."""
    names = [name for name, state in sorted(site.states().items()) if state == "AVAILABLE"][
        :DEPLOYMENTS
    ]
    for name in names:
        site.rack[name].image_s = IMAGE_S
    with ThreadPoolExecutor(DEPLOYMENTS) as callers:
        asked = [
            callers.submit(site.call, "create", f"busy-{n}", wait=15) for n in range(len(names))
        ]
        for name in names:
            site.rack.log.until(f"{name} agent write_image", limit=180)
        try:
            yield len(names)
            assert len(under_way(site)) == DEPLOYMENTS, "the load ended before the measurement"
        finally:
            for each in asked:
                each.result()


def under_way(site):
    return site.rows("SELECT id FROM operation WHERE kind = 'deploy' AND status = 'open'")
