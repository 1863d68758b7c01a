"""One source that asks all the time, on the listeners of the provisioning network."""

import http.client
import json
import ssl
from contextlib import closing

import pytest

from provisioner.service import agent_api, boot_script
from tests.service.faults.site import address

pytestmark = pytest.mark.emulated


def asked_until_another_status(connection, path):
    """Without token and MAC: then nothing is looked up, and asking is quick."""
    answers = []
    while len(answers) < 5000 and len({status for status, _ in answers}) < 2:
        connection.request("GET", path)
        reply = connection.getresponse()
        answers.append((reply.status, reply.read()))
    return answers


def test_a_stranger_that_asks_the_agents_api_all_the_time_is_held_back(running):
    trusting = ssl.create_default_context(cafile=running.state / "ca.pem")
    with closing(http.client.HTTPSConnection(address(), 8443, context=trusting)) as connection:
        answers = asked_until_another_status(connection, "/agent/v1/order")
    assert len(answers) > agent_api.BURST
    status, body = answers[-1]
    assert (answers[0][0], status) == (403, 503)  # an agent goes on asking after this one
    error = json.loads(body)["error"]
    assert (error["code"], error["kind"]) == ("TOO_MANY_REQUESTS", "transient")


def test_a_stranger_that_asks_for_boot_scripts_all_the_time_is_held_back(running):
    with closing(http.client.HTTPConnection(address(), 8080)) as connection:
        answers = asked_until_another_status(connection, "/boot/ipxe")
    assert len(answers) > boot_script.BURST
    assert answers[-1] == (429, b"more than 5 requests a second")
