"""Settings, the service itself, and what `init` makes."""

from pathlib import Path

import pytest

from provisioner.cli.service import ROLES
from provisioner.config import Role, load
from provisioner.errors import ErrorCode
from tests.unit.cli.rig import failed


def test_good_settings_are_said_to_be(rig):
    assert rig.run("config", "check").stdout == f"{rig.config}: good\n"
    assert rig.json("config", "check")["notices"] == []


def test_bad_settings_name_everything_at_once(rig):
    rig.config.write_text("version = 1\n[service]\ncolour = 1\n")
    line = failed(rig.run("config", "check"), ErrorCode.CONFIG_INVALID, 64)
    assert "service.colour: unknown key" in line
    assert "provisioning: missing" in line


def test_settings_that_are_not_there_are_said_to_be(rig):
    done = rig.run("config", "check", "--config", "/nowhere")
    assert "/nowhere" in failed(done, ErrorCode.FILE_UNREADABLE, 64)


def test_the_service_runs_with_the_settings_named_at_its_own_place(rig):
    done = rig.runner.invoke(rig.cli, ["serve", "--config", str(rig.config)])
    assert done.exit_code == 0
    ((word, settings),) = rig.calls
    assert word == "serve"
    assert settings == load(rig.config.read_text(), rig.folder)


def test_the_socket_is_that_of_the_settings_unless_named(rig):
    rig.run("server", "list")
    rig.run("--socket", "/s", "server", "list")
    rig.run("server", "list", "--socket", "/t")
    assert [each[1] for each in rig.calls] == [
        Path("/run/rackwright/operators.sock"),
        Path("/s"),
        Path("/t"),
    ]


@pytest.mark.parametrize(
    ("words", "socket"),
    [
        (("server", "list"), "/env"),
        (("--socket", "/s", "server", "list"), "/s"),
        (("server", "list", "--socket", "/t"), "/t"),
        (("--socket", "/s", "server", "list", "--socket", "/t"), "/t"),
    ],
)
def test_a_socket_on_the_line_goes_before_that_of_the_environment(rig, monkeypatch, words, socket):
    monkeypatch.setenv("RACKWRIGHT_SOCKET", "/env")
    assert rig.run(*words).exit_code == 0
    assert rig.calls == [("connect", Path(socket))]


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ((), (), "env"),
        (("line",), (), "line"),
        ((), ("line",), "line"),
        (("x",), ("line",), "line"),
    ],
)
def test_settings_on_the_line_go_before_those_of_the_environment(
    rig, monkeypatch, before, after, told
):
    def file(name: str) -> str:
        path = rig.folder / name
        socket = f'[operators]\nsocket = "/{name}"'
        path.write_text(rig.config.read_text().replace("[operators]", socket))
        return str(path)

    def options(names: tuple[str, ...]) -> list[str]:
        return [word for name in names for word in ("--config", file(name))]

    monkeypatch.setenv("RACKWRIGHT_CONFIG", file("env"))
    done = rig.runner.invoke(rig.cli, [*options(before), "server", "list", *options(after)])
    assert done.exit_code == 0, done.output
    assert rig.calls == [("connect", Path(f"/{told}"))]


def test_init_shows_files_and_the_first_token(rig):
    assert "rwt_1" in rig.run("init").stdout
    assert rig.json("init") == {"version": 1, "files": ["/k"], "token": "rwt_1"}


def test_init_token_shows_the_token(rig):
    assert rig.run("init", "token", "ci", "operator").stdout == "rwt_ci_operator\n"


def test_init_entry_names_files_certificate_and_what_is_to_be_done(rig):
    words = ("init", "entry", "mgmt1", "--site", "zone1", "--out", "/o")
    shown = rig.run(*words).stdout.splitlines()
    assert shown[0] == "/o/x"
    assert "0A of entry mgmt1, site zone1: good to 2028-12-01" in shown[1]
    assert "restart" in shown[2]
    assert rig.json(*words, "--days", "30") == {
        "version": 1,
        "name": "mgmt1",
        "site": "zone1",
        "serial": "0A",
        "ends": "2028-12-01",
        "files": ["/o/x"],
        "restart": True,
    }
    assert [each[1:] for each in rig.calls] == [
        ("mgmt1", "zone1", Path("/o"), days) for days in (730, 30)
    ]


def test_init_entry_revokes_by_name_and_says_what(rig):
    words = ("init", "entry", "mgmt1", "--revoke")
    assert rig.run(*words).stdout == "revoked 0A\nrevoked 0B\n"
    assert rig.json(*words) == {"version": 1, "name": "mgmt1", "revoked": ["0A", "0B"]}
    assert rig.run(*words, "--but-newest").stdout == "nothing to revoke\n"
    assert [each[2] for each in rig.calls] == [False, False, True]


def test_the_roles_are_those_of_the_service():
    assert tuple(Role) == ROLES
