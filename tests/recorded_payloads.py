"""The recorded payloads, and small changes of them."""

import copy
import json
from pathlib import Path

from provisioner.servers.allocation import InstanceKey
from provisioner.units import InstanceId, SiteName

FOLDER = Path(__file__).parent / "data" / "payloads"
SITE = SiteName("lab")
DETAILS = "cloudstack.vm.details"


def path_of(number):
    return next(FOLDER.glob(f"{number:02d}_*.json"))


def body_of(number):
    return json.loads(path_of(number).read_text())


def payload_of(number):
    return path_of(number).read_bytes()


def changed(number, *steps):
    """The payload with one value set, or removed where the last step is `...`."""
    *steps, last, value = steps
    body = copy.deepcopy(body_of(number))
    at = body
    for step in steps:
        at = at[step]
    if value is ...:
        del at[last]
    else:
        at[last] = value
    return json.dumps(body).encode()


def key_of(number):
    return InstanceKey(site=SITE, instance=InstanceId(body_of(number)["virtualmachineid"]))
