import dataclasses
import re
import tomllib
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provisioner.config import ReleaseSettings, Retention, Role, Settings, Times, load
from provisioner.errors import ErrorCode, InputError

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "rackwright.toml"
SMALL = """
version = 1
[extension]
sites = [{ name = "lab", uids = [7, 8] }]
[operators]
uids = [{ uid = 0, name = "root", role = "admin" }]
[provisioning]
address = "10.66.0.1"
network = "10.66.0.0/24"
range = ["10.66.0.100", "10.66.0.199"]
blobs_url = "http://10.66.0.1:8081/blobs"
blobs_dir = "blobs"
[boot]
hosts_dir = "hosts"
dnsmasq_log = "log"
tftp_dir = "tftp"
interface = "br-prov"
[ports]
adapter = "rack"
namespace = "rackwright-rack"
"""


def settings(text: str = SMALL) -> Settings:
    return load(text, Path("/srv"))


def problems(text: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        settings(text)
    assert caught.value.code is ErrorCode.CONFIG_INVALID
    return caught.value.detail.split("\n")


def changed(old: str, new: str) -> str:
    assert SMALL.count(old) == 1
    return SMALL.replace(old, new)


def https(values: str) -> str:
    return changed("[extension]", f"[extension]\nhttps = {{ {values} }}")


def test_the_example_is_valid_and_says_nothing_surprising():
    assert settings(EXAMPLE.read_text()).notices() == ()


@pytest.mark.parametrize(("name", "usual"), [("times", Times()), ("retention", Retention())])
def test_the_example_shows_what_counts_where_nothing_is_said(name, usual):
    text = EXAMPLE.read_text()
    section = re.compile(rf"^\[{name}\]\n(.*?)(?=^\[|\Z)", re.M | re.S).search(text)
    assert section
    uncommented = re.sub(r"^# (?=\w+ = )", "", section[1], flags=re.M)
    assert tomllib.loads(uncommented) == dataclasses.asdict(usual)


def test_every_key_of_every_section_stands_in_the_example():
    text, value = EXAMPLE.read_text(), settings()
    for section in dataclasses.fields(value):
        inner = getattr(value, section.name)
        keys = dataclasses.fields(inner) if dataclasses.is_dataclass(inner) else ()
        missing = [key.name for key in keys if not re.search(rf"^(# )?{key.name} = ", text, re.M)]
        assert missing == [], section.name


def test_relative_paths_start_at_the_files_folder():
    assert settings().boot.hosts_dir == Path("/srv/hosts")


def test_files_lie_in_the_state_folder_unless_named():
    files = settings(SMALL + '[service]\nstate_dir = "state"\nevidence_key = "/k/e"\n').files()
    assert files.database == Path("/srv/state/rackwright.db")
    assert files.evidence_key == Path("/k/e")


def test_each_uid_speaks_for_its_site():
    assert settings().extension.site_of_uid() == {7: "lab", 8: "lab"}


@pytest.mark.parametrize(
    ("values", "url", "hosts"),
    [
        ('address = "192.0.2.1"', "https://192.0.2.1:8445", ("192.0.2.1",)),
        ('address = "fd66::1"', "https://[fd66::1]:8445", ("fd66::1",)),
        (
            'address = "192.0.2.1", names = ["rack.test", "192.0.2.1", "192.0.2.9"]',
            "https://rack.test:8445",
            ("rack.test", "192.0.2.1", "192.0.2.9"),
        ),
        ('address = "0.0.0.0", names = ["rack.test"]', "https://rack.test:8445", ("rack.test",)),
    ],
)
def test_entries_find_the_service_by_the_first_host_of_its_certificate(values, url, hosts):
    found = settings(https(f"port = 8445, {values}")).extension.https
    assert found
    assert (found.url(), found.hosts()) == (url, hosts)


def test_a_site_that_nobody_can_speak_for_is_noticed():
    text = changed(", uids = [7, 8] }", " }")
    assert settings(text).notices() == (
        "extension.sites: lab has no uids, and extension.https is not set, so nobody speaks for it",
    )
    listening = text.replace(
        "[extension]", '[extension]\nhttps = { address = "192.0.2.1", port = 8445 }'
    )
    assert settings(listening).notices() == ()


def test_urls_are_made_of_address_and_ports():
    assert settings().provisioning.https_url() == "https://10.66.0.1:8443"
    assert settings().provisioning.http_url() == "http://10.66.0.1:8080"


def test_all_problems_are_named_at_once_with_their_paths():
    text = (
        changed('blobs_dir = "blobs"', "blobs_dir = 1\ncolour = 2") + "[times]\nsoft_off_s = []\n"
    )
    assert problems(text) == [
        "provisioning.colour: unknown key",
        "provisioning.blobs_dir: a text is expected",
        "times.soft_off_s: a number is expected",
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (changed("version = 1", ""), "version: missing"),
        (changed("version = 1", "version = 2"), "version: 1 is expected"),
        (changed("uids = [7, 8]", "uids = [7, 7]"), "extension.sites: uid 7 stands twice"),
        (
            changed('"10.66.0.1"\nn', '"10.67.0.1"\nn'),
            "provisioning.address: 10.67.0.1 is not in 10.66.0.0/24",
        ),
        (
            changed('["10.66.0.100", "10.66.0.199"]', '["10.66.0.9", "10.66.0.3"]'),
            "provisioning.range: the first address lies behind the last",
        ),
        (
            changed('["10.66.0.100", "10.66.0.199"]', '["10.66.0.1", "10.66.0.3"]'),
            "provisioning.range: holds the service's own address 10.66.0.1",
        ),
        (
            changed('["10.66.0.100", "10.66.0.199"]', '["10.66.0.100"]'),
            "provisioning.range: two addresses are expected, first and last",
        ),
        (
            changed('["10.66.0.100", "10.66.0.199"]', '["10.66.0.100", "10.66.1.1"]'),
            "provisioning.range: not inside 10.66.0.0/24",
        ),
        (
            changed("[boot]", "http_port = 8443\n[boot]"),
            "provisioning.http_port: the same as https_port",
        ),
        (
            changed('namespace = "rackwright-rack"', ""),
            "ports.namespace: missing; the rack's adapter needs it",
        ),
        (
            changed('adapter = "rack"', 'adapter = "manual"'),
            "ports.namespace: only the rack's adapter uses one",
        ),
        (
            changed("[extension]", '[extension]\nsocket = "/run/rackwright/operators.sock"'),
            "operators.socket: the same as extension.socket",
        ),
        (
            changed("[operators]", '[operators]\nhttps = {address = "10.66.0.1", port = 8080}'),
            "operators.https.port: taken by the provisioning listener",
        ),
        (
            https('address = "10.66.0.1", port = 8443'),
            "extension.https.port: taken by the provisioning listener",
        ),
        (
            https('address = "10.66.0.1", port = 8445').replace(
                "[operators]", '[operators]\nhttps = {address = "10.66.0.1", port = 8445}'
            ),
            "extension.https.port: taken by operators.https",
        ),
        (https('address = "::", port = 8445'), "extension.https.names: missing"),
        (https('address = "here", port = 8445'), "extension.https.address: an IP address"),
        *(
            (
                https(f'address = "10.0.0.1", port = 8445, names = ["{name}"]'),
                "extension.https.names[0]: a host name or an IP address is expected",
            )
            for name in ("", "a b", "a..b", "https://a", "a:8445", "a/b", "*", "x" * 64)
        ),
        (
            SMALL + "[times]\nreading_too_old_s = 10\n",
            "times.power_read_s: must lie between 0 and reading_too_old_s",
        ),
        (SMALL + '[service]\nlog_level = "loud"\n', "service.log_level: one of"),
    ],
)
def test_what_contradicts_itself_is_refused(text, problem):
    assert problems(text)[0].startswith(problem)


def test_text_that_is_no_toml_names_the_place():
    with pytest.raises(InputError, match="line 1"):
        settings("version = = 1")


def test_an_undeclared_isolation_is_noticed_not_refused():
    text = changed('adapter = "rack"\nnamespace = "rackwright-rack"', 'adapter = "manual"')
    assert settings(text).notices() == (
        "ports.isolation: not declared, so no server will be handed out",
    )


@given(st.text())
def test_no_text_gives_anything_but_settings_or_an_input_error(text):
    with suppress(InputError):
        settings(text)


@pytest.mark.parametrize(
    ("has", "needs", "allowed"),
    [
        (Role.VIEWER, Role.VIEWER, True),
        (Role.VIEWER, Role.OPERATOR, False),
        (Role.OPERATOR, Role.VIEWER, True),
        (Role.OPERATOR, Role.ADMIN, False),
        (Role.ADMIN, Role.OPERATOR, True),
    ],
)
def test_a_role_may_do_what_lower_ones_may(has, needs, allowed):
    assert has.allows(needs) is allowed


def test_how_fast_is_wiped_may_be_said_or_left_to_the_pool():
    assert settings().release == ReleaseSettings()
    set_ = settings(f"{SMALL}[release]\nat_most_per_hour = 12\nprotected_hold_s = 86400\n").release
    assert (set_.at_most_per_hour, set_.protected_hold_s) == (12, 86400.0)
    for wrong in ("at_most_per_hour = 0", "protected_hold_s = -1", "at_most_per_day = 1"):
        (problem,) = problems(f"{SMALL}[release]\n{wrong}\n")
        assert problem.startswith(f"release.{wrong.split()[0]}: ")
