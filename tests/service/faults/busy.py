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
def quiet_site(*, servers=1 + DEPLOYMENTS):
    """Started; a tenant's system runs on the first server, all others are free."""
    folder = Path(tempfile.mkdtemp(prefix="rwb-"))
    site = Site(folder, [f"s{number:02}" for number in range(servers)])
    try:
        site.furnish()
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
    names = [name for name in site.names if site.states()[name] == "AVAILABLE"][:DEPLOYMENTS]
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
