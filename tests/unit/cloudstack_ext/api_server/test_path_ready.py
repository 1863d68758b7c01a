"""When an extension's path is ready: at once, and what the checks of all servers say later."""

import pytest

from cloudstack_ext.api_server.model.places import ManagementServer
from cloudstack_ext.api_server.server import ApiServer
from cloudstack_ext.api_server.settings import ServerSettings

pytestmark = pytest.mark.emulated
INTERVAL_S = 60


@pytest.fixture
def servers(tmp_path):
    return [tmp_path / "ms1", tmp_path / "ms2"]


@pytest.fixture
def server(clock, servers):
    with ApiServer(ServerSettings(path_check_s=INTERVAL_S), now=clock) as running:
        first = next(iter(running.state.servers.values()))
        first.extensions = servers[0]
        running.state.servers["0a"] = ManagementServer(id="0a", name="ms2", extensions=servers[1])
        yield running


def write(folder, text="#!/bin/sh\n", mode=0o755, path="metal/entry"):
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(mode)


def created(api, path="entry"):
    return api.createExtension(name="metal", type="Orchestrator", path=path)["extension"]


def after_a_check(api, clock):
    clock.now += INTERVAL_S
    return api.listExtensions(name="metal")["extension"][0]["pathready"]


def test_the_interval_is_the_one_that_the_settings_name(api):
    (setting,) = api.listConfigurations(name="extension.path")["configuration"]
    assert (setting["value"], setting["defaultvalue"]) == (str(INTERVAL_S), "300")


def test_it_is_ready_at_once_and_after_the_check_where_the_file_is_everywhere(api, servers, clock):
    for each in servers:
        write(each)
    assert created(api)["pathready"]
    assert after_a_check(api, clock)


def test_a_missing_file_is_called_ready_until_the_next_check(api, servers, clock):
    write(servers[0])
    assert created(api, "entry.py")["pathready"]
    assert api.listExtensions(name="metal")["extension"][0]["pathready"]
    assert not after_a_check(api, clock)


def test_a_missing_shell_script_is_written_on_every_server(api, servers, clock):
    assert created(api, "entry.sh")["pathready"]
    assert after_a_check(api, clock)
    assert all((each / "metal/entry.sh").exists() for each in servers)


@pytest.mark.parametrize(
    "change",
    [
        {"text": "#!/bin/sh\nexit 2\n"},
        {"mode": 0o644},
    ],
)
def test_another_file_on_one_server_and_it_is_not_ready(api, servers, clock, change):
    for each in servers:
        write(each)
    created(api)
    write(servers[1], **change)
    assert not after_a_check(api, clock)
    write(servers[1])
    assert after_a_check(api, clock)


def test_a_server_that_is_down_does_not_count(server, api, servers, clock):
    write(servers[0])
    created(api)
    server.state.servers["0a"].state = "Down"
    assert after_a_check(api, clock)


def test_a_host_added_meanwhile_needs_a_reconnect(server, api, servers, clock):
    extension = created(api)["id"]
    assert not after_a_check(api, clock)
    zone, pod = api.listZones()["zone"][0]["id"], api.listPods()["pod"][0]["id"]
    place = {"zoneid": zone, "podid": pod, "hypervisor": "External"}
    cluster = api.addCluster(
        clustername="c", clustertype="CloudManaged", extensionid=extension, **place
    )["cluster"][0]["id"]
    host = api.addHost(clusterid=cluster, url="late", username="x", password="x", **place)
    (added,) = host["host"]
    assert added["state"] == "Up"
    assert not server.state.hosts[added["id"]].connected
    for each in servers:
        write(each)
    assert after_a_check(api, clock)
    assert not server.state.hosts[added["id"]].connected
    api.reconnectHost(id=added["id"])
    assert server.state.hosts[added["id"]].connected
