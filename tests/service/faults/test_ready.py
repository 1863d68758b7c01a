"""What systemd waits for before dnsmasq and nginx start."""

import socket
from contextlib import closing

import pytest

pytestmark = pytest.mark.emulated


@pytest.mark.parametrize("abstract", [False, True])
def test_ready_is_said_when_the_files_of_the_others_are_written_and_not_before(
    site, monkeypatch, abstract
):
    name = str(site.folder / "notify")
    environ = site.environ() | {"NOTIFY_SOCKET": f"@{name}" if abstract else name}
    monkeypatch.setattr(site, "environ", lambda: environ)
    written = site.state / "dnsmasq" / "dnsmasq.conf", site.state / "nginx" / "nginx.conf"
    for each in written:
        each.unlink()
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as systemd:
        systemd.bind(f"\0{name}" if abstract else name)
        systemd.settimeout(60)
        site.spawn()
        assert systemd.recv(100) == b"READY=1"
    assert all(each.exists() for each in written)
    assert site.is_up()
    site.stop()
