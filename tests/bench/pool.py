"""A pool whose 200 servers are 200 instances of CloudStack, and what a ping asks of them.

Their systems ran before Rackwright knew them: enrolled, verified, adopted, and started once by the
real entry, which is how an instance gets its name and its host. The database has an hour of power
readings, as any has that has run for an hour.
"""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from cloudstack_ext.contract import Verb
from cloudstack_ext.lab.instances import instance_of
from cloudstack_ext.lab.payload import lab_payload
from cloudstack_ext.management_server.cloud import Extension, Host
from cloudstack_ext.management_server.payload import statuses_payload
from provisioner.adapters.clock import SystemClock
from provisioner.servers.model import Power, PowerReading
from provisioner.store.readings import KEPT_S
from provisioner.testing import store
from provisioner.units import MonotonicSeconds
from tests.service.faults.busy import PRODUCT_TIMES, quiet_site
from tests.service.faults.site import POOL_OF_FAULTS, at

POOL = POOL_OF_FAULTS
INSTANCES = {f"f{n:03}": instance_of(f"pool-{n}", number=n) for n in range(200)}
"""By the server of each; machines of this pool begin with an f."""
BESIDE = "beside"
"""Label of the host that all other instances are seen at."""
AT_ONCE = 16
LIMIT_S = 600


@contextmanager
def full_pool():
    """A service with this pool, and 20 free servers beside it."""
    with quiet_site(more=INSTANCES, host=BESIDE) as site, ThreadPoolExecutor(AT_ONCE) as callers:
        list(callers.map(lambda server: _found_running(site, server), INSTANCES))
        _until_all(site, "SELECT count(*) FROM server WHERE found_on AND power = 'on'")
        list(callers.map(lambda server: _adopted(site, server), INSTANCES))
        site.stop()
        _read_for_an_hour(site)
        site.start()
        _until_all(
            site,
            "SELECT count(*) FROM server s JOIN allocation a ON a.server = s.name"
            f" WHERE a.host = '{POOL}' AND s.power_at > a.commanded_at",
        )
        yield site


def _found_running(site, server):
    site.rack[server].board.power = Power.ON
    site.enrol(server)


def _until_all(site, query):
    site.until(lambda: site.rows(query) == [(len(INSTANCES),)], query, LIMIT_S)


def _adopted(site, server):
    instance = INSTANCES[server]
    body = {"instance": instance.uuid, "site": "lab"}
    site.client.ask("POST", f"/v1/servers/{server}/adopt", body)
    payload = at(POOL, lab_payload(Verb.START, instance))
    started = site.send(Verb.START, payload, LIMIT_S)
    assert started.exit == 0, started.text


def _read_for_an_hour(site):
    """Noted by the store itself, all before anything that the power loop has read."""
    database = store.open_store(site.state, SystemClock())
    try:
        ((first,),) = site.rows("SELECT min(at) FROM reading")
        for at in range(int(first - KEPT_S), int(first), int(PRODUCT_TIMES["power_read_s"])):
            reading = PowerReading(power=Power.ON, at=MonotonicSeconds(at), source="loop")
            database.servers.note_readings(dict.fromkeys(INSTANCES, reading))
    finally:
        database.close()


def of_all():
    """The payload of `statuses`."""
    details = {"pool": POOL, "host": POOL}
    return statuses_payload(Host(name=POOL, details=details), Extension())


def of_each():
    """The payload of `status` of each instance, by its name."""
    return {
        instance.name: at(POOL, lab_payload(Verb.STATUS, instance))
        for instance in INSTANCES.values()
    }
