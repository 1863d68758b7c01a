"""Pitfalls of status and statuses: what they are taken for. Pure."""

from collections.abc import Sequence
from typing import Final

from cloudstack_ext.conformance.verdicts.verdict import Pitfall, behaviour

_VIEW = "tests/unit/cloudstack_ext/test_power_view.py::"

STATUSES: Final[Sequence[Pitfall]] = (
    behaviour(
        "8",
        "a Stopped instance is never stopped again, its machine may be on by hand",
        "status says unknown, and an alarm says so",
        f"{_VIEW}test_a_server_on_that_is_wanted_off_is_an_alarm",
    ),
    behaviour(
        "15",
        "PowerOff by mistake stops a healthy machine",
        "off is said after three readings over half a minute, all newer than the last command",
        "reboot never shows off",
        "status of what was never heard of is unknown",
        "tests/unit/cloudstack_ext/test_status_of_servers.py::test_off_by_itself_only_after_three_readings_over_half_a_minute",
    ),
    behaviour(
        "16",
        "PowerOn of a Stopped instance makes it Running",
        "on is said only of what CloudStack has and wants on",
        "what is only prepared is not on",
        "what was deleted is not on",
    ),
    behaviour(
        "seen h",
        "status goes on while Disabled, in maintenance and during create",
        "answered from memory, whatever else goes on",
        "status is quick",
        "status during create is not off",
    ),
    behaviour(
        "seen h.7",
        "each failing status leaves a file behind",
        "status does not fail for want of knowledge",
        "status of what was never heard of is no failure",
    ),
    behaviour(
        "seen i.2",
        "off at the first ping after a restart: never asked for again",
        "unknown until it is up",
        "a server killed in mid create loses nothing",
    ),
    behaviour(
        "seen 2.22",
        "unknown until it is up heals all three",
        "that is what status says",
        "a cancelled job s create ends running",
        "a server killed in mid create loses nothing",
    ),
    behaviour(
        "read 2.12",
        "statuses is a whole ping's report",
        "every instance named, or a failure",
        "statuses names every instance or fails",
    ),
)
