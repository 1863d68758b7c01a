"""Settings, services and loops for the agent's tests."""

import pytest

from provisioner.agent.blobs import Blobs
from provisioner.agent.calls import Calls, Pace
from provisioner.agent.connection import Connections, pinned_context
from provisioner.agent.link import ServiceLink
from provisioner.agent.reports import Reports
from provisioner.agent.settings import AgentSettings
from tests.unit.agent.scripted_service import HERE, TOKEN, ScriptedService, make_authority

PACE = Pace(pause=0.01, longest_pause=0.05, refused=1.0, blobs=0.4, report=0.02, beat=0.05)


@pytest.fixture(scope="session")
def authorities(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    make_authority(folder, "site")
    make_authority(folder, "other")
    return folder


@pytest.fixture
def service(authorities):
    running = ScriptedService(authorities / "site.pem")
    yield running
    running.stop()


@pytest.fixture
def blob_server():
    running = ScriptedService(None)
    yield running
    running.stop()


class Agent:
    """All of the agent but its loop."""

    def __init__(self, port, authority, token=TOKEN):
        self.settings = AgentSettings(host=HERE, port=port, token=token)
        connections = Connections(pinned_context(str(authority)))
        self.calls = Calls(self.settings, connections, PACE)
        self.reports = Reports(self.calls, PACE)
        self.link = ServiceLink(Blobs(self.settings, connections, PACE), self.reports)


@pytest.fixture
def agent(service, authorities):
    return Agent(service.port, authorities / "site.ca.pem")
