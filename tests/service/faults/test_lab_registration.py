"""The demo's stage of a registration, with the real service and the real commands."""

import json

import pytest

from cloudstack_ext.lab.registration import register
from provisioner.errors import OperatorError

pytestmark = pytest.mark.emulated


class Commands:
    """As the demo runs them; `breaks` are words whose command does nothing."""

    def __init__(self, site, breaks=()):
        self.site, self.breaks = site, breaks

    def ask(self, *words):
        if words[1] in self.breaks:
            return {"steps": []}
        socket = ("--socket", str(self.site.folder / "operators.sock"))
        ended = self.site.command(*words, *socket, "--output", "json")
        assert ended.returncode in {0, 2}, ended.stderr
        return json.loads(ended.stdout)


def test_it_makes_all_of_it_and_takes_it_back(site, tmp_path):
    site.start()
    seen = register(Commands(site), tmp_path / "cloudstack")
    assert "1 extension, 1 cluster, 1 host, 2 templates, 1 offering made" in seen
    assert site.client.ask("GET", "/v1/registered?site=lab")["registered"] == []
    assert (tmp_path / "cloudstack/admin.key").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("broken", "said"),
    [("plan", "has steps"), ("apply", "second plan is empty"), ("unregister", "taken back")],
)
def test_a_command_that_does_nothing_is_noticed(site, tmp_path, broken, said):
    site.start()
    with pytest.raises(OperatorError, match=said):
        register(Commands(site, breaks={broken}), tmp_path / "cloudstack")
