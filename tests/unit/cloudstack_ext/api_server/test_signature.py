"""Whose request it is: the signature as CloudStack computes it."""

from datetime import UTC, datetime

import pytest
from cs import CloudStack

from cloudstack_ext.api_server.signature import is_signed, sign

SECRET = "a secret of tests"
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC).timestamp()
MANY = {
    "command": "createExtension",
    "response": "json",
    "name": "metal one",
    "details[0].External:x": "A/b+c=d&e*f~g",
    "details[0].apple": "ü",
}


def signed(parameters, secret=SECRET):
    return {**parameters, "signature": sign(parameters, secret)}


def test_it_is_the_one_that_cs_makes():
    api = CloudStack("http://localhost", key="k", secret=SECRET)
    theirs = dict(MANY, apiKey="k")
    api._sign(theirs)
    assert theirs["signature"] == sign(dict(MANY, apiKey="k"), SECRET)


def test_names_are_sorted_with_their_case():
    upper_first = sign({"a[0].External:x": "1", "a[0].b": "2"}, SECRET)
    sorted_lower = sign({"a[0].zxternal:x": "1", "a[0].b": "2"}, SECRET)
    assert upper_first != sorted_lower
    assert is_signed(signed({"a[0].b": "2", "a[0].External:x": "1"}), SECRET, NOW)


@pytest.mark.parametrize(
    "change",
    [
        {"name": "metal two"},
        {"more": "x"},
        {"signature": ""},
        {"signature": "bm9uZQ=="},
    ],
)
def test_one_change_and_it_is_refused(change):
    assert is_signed(signed(MANY), SECRET, NOW)
    assert not is_signed({**signed(MANY), **change}, SECRET, NOW)


def test_values_are_compared_in_lower_case():
    assert is_signed({**signed(MANY), "name": "METAL ONE"}, SECRET, NOW)


@pytest.mark.parametrize(
    ("expires", "good"),
    [
        ("2026-11-30T12:10:00+0000", True),
        ("2026-11-30T12:10:00Z", True),
        ("2026-11-30T11:59:00+0000", False),
        ("2026-11-30T12:30:00+0100", False),
        ("tomorrow", False),
        ("", False),
    ],
)
def test_a_signature_of_version_3_expires(expires, good):
    given = signed({**MANY, "signatureVersion": "3", "expires": expires})
    assert is_signed(given, SECRET, NOW) is good


def test_without_a_version_nothing_expires():
    assert is_signed(signed({**MANY, "expires": "2001-01-01T00:00:00+0000"}), SECRET, NOW)
