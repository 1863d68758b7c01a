"""Every recorded answer of a command that is served, compared with ours to the same request."""

import contextlib

import pytest
import requests
from cs import CloudStack, CloudStackApiException

from cloudstack_ext.api_server.handlers import HANDLERS
from cloudstack_ext.api_server.server import ApiServer
from cloudstack_ext.api_server.settings import ServerSettings
from tests.unit.cloudstack_ext.api_server.arranged import arrange
from tests.unit.cloudstack_ext.api_server.conftest import Clock
from tests.unit.cloudstack_ext.api_server.left_out import LEFT_OUT
from tests.unit.cloudstack_ext.api_server.normalised import Comparison
from tests.unit.cloudstack_ext.api_server.recorded import (
    UUID,
    moment,
    objects_in,
    pairs,
)
from tests.unit.cloudstack_ext.api_server.recorded_people import SECRET
from tests.unit.cloudstack_ext.api_server.recorded_world import World

JOB_S = 2.0
BAD_KEYS = {
    "error_401_bad_signature": ("alice", "another secret"),
    "error_401_unknown_api_key": ("nobody", SECRET),
    "error_401_no_key": (None, None),
}
CALLERS = {  # of pairs that do not say whose key they had
    "error_431_bad_type": "system",
    "error_createServiceOffering_negative": "system",
    "error_foreign_vm_as_other_user": "bob",
    "error_531_permission": "bob",
}


class LastAnswer(requests.Session):
    """Keeps the answer as it came, which cs unwraps."""

    def send(self, request, **kwargs):
        self.last = super().send(request, **kwargs)
        return self.last


class Script:
    """The extension, which says what it is told to."""

    def __init__(self, reply):
        self.reply = reply

    def perform(self, _ask):
        return self.reply


@pytest.mark.parametrize("name", sorted(set(pairs()) - set(LEFT_OUT)))
@pytest.mark.emulated
def test_our_answer_is_the_recorded_one(name):
    pair = pairs()[name]
    world = arrange(name, World(pair))
    known = set(UUID.findall(repr(world.state)))
    clock = Clock(_when(pair))
    world.state.started = clock.now
    compared = Comparison(name, pair["request"]["command"], known)
    script = Script(world.reply) if world.reply else None
    with ApiServer(
        ServerSettings(job_s=JOB_S), state=world.state, extension=script, now=clock
    ) as server:
        api = _api(server, name, pair)
        answer = _called(api, pair["request"])
        compared.of(pair["http_status"], answer.status_code, "status")
        compared.of(pair["answer"], answer.json())
        job = next(iter(pair["answer"].values())).get("jobid")
        if "job_pending" in pair:
            compared.of(pair["job_pending"], _job(api, answer), "pending")
        if "job_final" in pair and job is not None:
            clock.now += JOB_S
            compared.of(pair["job_final"], _ended(api, answer), "final")
    assert not compared.differences


def test_every_pair_of_a_served_command_is_compared_or_left_out_for_a_reason():
    assert set(LEFT_OUT) <= set(pairs())
    assert {pair["request"]["command"] for pair in pairs().values()} <= {
        *HANDLERS,
        "noSuchCommand",
    }


def _api(server, name, pair):
    asked = pair.get("as") or CALLERS.get(name, "alice")
    caller = "system" if asked.startswith("root admin") else asked
    key, secret = BAD_KEYS.get(name, (caller, SECRET))
    return CloudStack(
        server.endpoint,
        key=key,
        secret=secret,
        method="post",
        timeout=5,
        expiration=-1,
        session=LastAnswer(),
    )


def _called(api, request):
    """As cs sends it; the parameters that it adds itself are not given."""
    given = {
        name: text
        for name, text in request.items()
        if name not in {"command", "response", "apiKey", "signature"}
    }
    with contextlib.suppress(CloudStackApiException):
        getattr(api, request["command"])(**given)
    return api.session.last


def _job(api, answer):
    api.queryAsyncJobResult(jobid=next(iter(answer.json().values()))["jobid"])
    return next(iter(api.session.last.json().values()))


def _ended(api, answer):
    for _poll in range(200):
        polled = _job(api, answer)
        if polled["jobstatus"]:
            return polled
    return polled


def _when(pair):
    """The server's clock: then the moments of what is made are the recorded ones."""
    final = pair.get("job_final", pair.get("job_pending", {}))
    if pair["request"]["command"] == "queryAsyncJobResult" and final:
        return moment(final["completed"])
    if "created" in final:
        return moment(final["created"])
    if pair["request"].get("expires"):
        return moment("2026-11-30T11:54:28+0000")
    rows = [row for _kind, row in objects_in(pair["answer"]) if "created" in row]
    return moment(rows[0]["created"]) if rows else moment("2026-11-30T12:00:00+0000")
