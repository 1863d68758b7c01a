import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provisioner.agent.settings import parse_arguments, parse_settings

LINE = "quiet rackwright.url=https://10.66.0.1:8443 rackwright.token=abc rackwright.mac=02:00"


def test_command_line_names_service_and_token():
    found = parse_settings(LINE, "")
    assert (found.host, found.port, found.token) == ("10.66.0.1", 8443, "abc")
    assert found.netloc() == "10.66.0.1:8443"


def test_site_names_the_service_where_the_command_line_does_not():
    found = parse_settings(
        "rackwright.token=abc", '{"version": 1, "url": "https://[fd66::1]:8443"}'
    )
    assert (found.host, found.netloc()) == ("fd66::1", "[fd66::1]:8443")


def test_the_last_argument_of_a_name_counts():
    assert parse_arguments("rackwright.a=1 rackwright.a=2 other.a=3") == {"a": "2"}


@pytest.mark.parametrize(
    "line",
    [
        "",
        "rackwright.token=abc",
        "rackwright.url=https://10.66.0.1:8443",
        "rackwright.url=http://10.66.0.1:8443 rackwright.token=abc",
        "rackwright.url=https://10.66.0.1:8443/x rackwright.token=abc",
        "rackwright.url=https://10.66.0.1:99999 rackwright.token=abc",
        "rackwright.url=https:// rackwright.token=abc",
    ],
)
def test_without_a_service_or_a_token_the_agent_does_not_begin(line):
    with pytest.raises(ValueError, match=r"rackwright|[Pp]ort"):
        parse_settings(line, "")


@given(st.text(), st.text())
def test_whatever_it_is_told_it_begins_or_says_why(line, site):
    with contextlib.suppress(ValueError):
        assert parse_settings(line, site).token
