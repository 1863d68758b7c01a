import pytest
from hypothesis import given
from hypothesis import strategies as st

from provisioner.hardware.ipmi import (
    LAST_RECORD,
    ControllerRefusedError,
    entry_request,
    parse_entry,
)
from provisioner.hardware.nonce import (
    MEDIUM_BYTES,
    NONCE_BYTES,
    medium_with,
    nonce_in_record,
    nonce_on_medium,
    record_with,
)

NONCES = st.binary(min_size=NONCE_BYTES, max_size=NONCE_BYTES)


@given(NONCES)
def test_a_nonce_comes_back_from_a_medium(nonce):
    assert len(medium_with(nonce)) == MEDIUM_BYTES
    assert nonce_on_medium(medium_with(nonce)) == nonce


@given(NONCES)
def test_a_nonce_comes_back_from_a_record(nonce):
    assert nonce_in_record(record_with(nonce)) == nonce


@given(st.binary(max_size=4096))
def test_other_media_and_records_carry_none(content):
    assert nonce_on_medium(content) is None
    assert nonce_in_record(content[:15]) is None


def test_a_damaged_medium_carries_none():
    assert nonce_on_medium(b"RACKWRIGHT-NONCE-1\nnot hex\n") is None
    assert nonce_on_medium(b"RACKWRIGHT-NONCE-1\n\xff\xfe\n") is None
    assert nonce_on_medium(b"RACKWRIGHT-NONCE-1\n") is None


def test_a_nonce_of_another_length_is_refused():
    with pytest.raises(ValueError, match="13 bytes"):
        record_with(b"short")


def test_log_entries_are_read():
    record = b"\x05\x00" + record_with(b"13 bytes long")[2:]
    answer = parse_entry(b"\0" + b"\xff\xff" + record)
    assert answer.following == LAST_RECORD
    assert nonce_in_record(answer.record) == b"13 bytes long"
    assert entry_request(5) == b"\0\0\x05\0\0\xff"


@pytest.mark.parametrize("answer", [b"", b"\xcb", b"\xcb\0\0"])
def test_a_refused_entry_is_an_error(answer):
    with pytest.raises(ControllerRefusedError):
        parse_entry(answer)


def test_a_short_entry_is_an_error():
    with pytest.raises(ValueError, match="short"):
        parse_entry(b"\0\1")
