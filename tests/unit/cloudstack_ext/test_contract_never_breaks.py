"""Whatever comes in, out comes a request or an InputError."""

import contextlib
import json

from hypothesis import given, settings
from hypothesis import strategies as st

from cloudstack_ext.contract import Verb, failed, parse_call
from provisioner.errors import InputError
from tests.recorded_payloads import SITE, body_of

VERBS = st.sampled_from([*Verb, "getconsole", "statuses", "why"]) | st.text(max_size=20)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["vlan://7", "::1", "0.0.0.0", "\ud800", "AAAA", "a" * 5000, 10**400])
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
TEMPLATES = st.sampled_from([1, 7, 8, 12, 28, 36, 39, 42, 55])


def assert_answered(verb, payload):
    try:
        parse_call(verb, payload, SITE)
    except InputError as error:
        line = failed(error).line
        assert line.isascii()
        assert isinstance(json.loads(line), dict)


@settings(max_examples=100, deadline=None)
@given(verb=VERBS, payload=st.binary(max_size=200))
def test_any_bytes(verb, payload):
    assert_answered(verb, payload)


@settings(max_examples=100, deadline=None)
@given(verb=VERBS, value=VALUES)
def test_any_json(verb, value):
    with contextlib.suppress(ValueError):  # a number of more digits than Python prints
        assert_answered(verb, json.dumps(value).encode())


def _places(value, path=()):
    yield path
    pairs = value.items() if isinstance(value, dict) else ()
    pairs = enumerate(value) if isinstance(value, list) else pairs
    for key, inner in pairs:
        yield from _places(inner, (*path, key))


@settings(max_examples=250, deadline=None)
@given(data=st.data(), number=TEMPLATES, verb=st.sampled_from(Verb), value=VALUES)
def test_a_recorded_payload_with_anything_at_any_place(data, number, verb, value):
    body = body_of(number)
    path = data.draw(st.sampled_from([place for place in _places(body) if place]))
    at = body
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    assert_answered(verb, json.dumps(body).encode())
