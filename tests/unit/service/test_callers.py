"""Who calls, and for which site."""

import logging

import pytest
from starlette.requests import Request

from provisioner.errors import ErrorCode, RackwrightError
from provisioner.service.by_certificate import PEER_CERTIFICATE, shown_of
from provisioner.service.callers import Caller, CallerByCertificate, CallerByUid
from provisioner.service.entries import Shown
from provisioner.service.peers import PEER_UID
from provisioner.testing.clock import FakeClock
from provisioner.units import SiteName, WallSeconds

DAY = 86400.0
SUBJECT = (
    (("organizationName", "zone1"),),
    (("organizationalUnitName", "Rackwright entry"),),
    (("commonName", "mgmt1"),),
)
FOUND = {"subject": SUBJECT, "serialNumber": "0A1B", "notAfter": "Jan 15 08:00:00 2027 GMT"}
"""As Python's ssl module gives it."""
SHOWN = Shown(
    name="mgmt1", site=SiteName("zone1"), serial=0x0A1B, ends_at=WallSeconds(1_800_000_000.0)
)


def request(**state):
    return Request({"type": "http", "state": state})


@pytest.fixture
def clock():
    return FakeClock(wall=SHOWN.ends_at - 100 * DAY)


def caller(clock, text="mgmt1 zone1 0A1B 2027-01-15\n", sites=("zone1",)):
    return CallerByCertificate(read_entries=lambda: text, sites=sites, clock=clock)


def refused(call, asked):
    with pytest.raises(RackwrightError) as caught:
        call(asked)
    return caught.value.code


def test_a_uid_speaks_for_its_site():
    by_uid = CallerByUid({7: SiteName("lab")})
    assert by_uid(request(**{PEER_UID: 7})) == Caller(SiteName("lab"), "uid 7")
    assert refused(by_uid, request(**{PEER_UID: 8})) is ErrorCode.PERMISSION
    assert refused(by_uid, request()) is ErrorCode.PERMISSION


def test_a_certificate_speaks_for_the_site_in_it(clock):
    known = request(**{PEER_CERTIFICATE: SHOWN})
    assert caller(clock)(known) == Caller(SiteName("zone1"), "entry mgmt1")
    assert refused(caller(clock, text=""), known) is ErrorCode.TLS_REFUSED
    assert refused(caller(clock, sites=("zone2",)), known) is ErrorCode.PERMISSION
    clock.advance(100 * DAY)
    assert refused(caller(clock), known) is ErrorCode.TLS_REFUSED


@pytest.mark.parametrize("state", [{}, {PEER_CERTIFICATE: None}, {PEER_UID: 7}])
def test_without_an_entry_s_certificate_nobody_speaks(clock, state):
    assert refused(caller(clock), request(**state)) is ErrorCode.TLS_REFUSED


def test_the_subject_says_entry_and_site():
    assert shown_of(FOUND) == SHOWN


@pytest.mark.parametrize(
    "subject",
    [
        (),
        SUBJECT[:1],
        ((("commonName", "10.66.0.1"),),),
        (*SUBJECT[::2], (("organizationalUnitName", "Rackwright console"),)),
        (*SUBJECT, (("organizationName", "zone2"),)),
        (*SUBJECT, (("commonName", "mgmt2"),)),
    ],
)
def test_a_subject_of_another_kind_or_with_two_words_for_one_thing_is_none(subject):
    assert shown_of(FOUND | {"subject": subject}) is None


def test_an_end_that_comes_near_is_said_once_a_day(clock, caplog):
    asking, known = caller(clock), request(**{PEER_CERTIFICATE: SHOWN})
    with caplog.at_level(logging.WARNING):
        asking(known)
        assert caplog.messages == []
        clock.advance(71 * DAY)
        for _ in range(3):
            asking(known)
        clock.advance(DAY)
        asking(known)
    assert caplog.messages == [
        f"the certificate of entry mgmt1 ends in {days} days" for days in ("29.0", "28.0")
    ]
