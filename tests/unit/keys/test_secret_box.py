"""Secrets at rest: only with the right key, for the right purpose, unchanged."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provisioner.adapters.keys.secret_box import (
    SecretBox,
    load_secret_box,
    secret_key_id,
    secret_keys_line,
)
from provisioner.errors import ErrorCode, OperatorError

OLD, NEW = bytes([1]) * 32, bytes([2]) * 32
BOX = SecretBox({"old": OLD}, "old")


@given(st.binary(max_size=200), st.text(max_size=20))
def test_what_was_sealed_opens_to_the_same_bytes(clear, purpose):
    assert BOX.open(BOX.seal(clear, purpose=purpose), purpose=purpose) == clear


def test_the_text_names_its_format_and_key_and_never_repeats():
    sealed = {BOX.seal(b"password", purpose="p") for _ in range(20)}
    assert len(sealed) == 20
    for each in sealed:
        assert each.split(":")[:2] == ["rw1", "old"]
        assert "password" not in each


@pytest.mark.parametrize(
    "spoil",
    [
        lambda sealed: "",
        lambda sealed: "rw1:old",
        lambda sealed: sealed.replace("rw1", "rw2"),
        lambda sealed: sealed.replace("old", "new"),
        lambda sealed: sealed[:-1] + ("A" if sealed[-1] != "A" else "B"),
        lambda sealed: sealed[:-6],
        lambda sealed: sealed + "!",
        lambda sealed: ":".join([*sealed.split(":")[:2], "", sealed.split(":")[3]]),
    ],
)
def test_changed_text_is_refused(spoil):
    # 11 bytes and the tag of 16 leave no unused bits in the last character of base64
    sealed = BOX.seal(b"0123456789a", purpose="p")
    with pytest.raises(OperatorError) as caught:
        BOX.open(spoil(sealed), purpose="p")
    assert caught.value.code is ErrorCode.SECRET_UNREADABLE


def test_a_secret_is_bound_to_its_purpose():
    sealed = BOX.seal(b"x", purpose="server bios1 password")
    with pytest.raises(OperatorError, match="another purpose"):
        BOX.open(sealed, purpose="server uefi1 password")


def test_another_key_does_not_open_it():
    with pytest.raises(OperatorError, match="does not hold"):
        SecretBox({"new": NEW}, "new").open(BOX.seal(b"x", purpose="p"), purpose="p")
    with pytest.raises(OperatorError, match="changed"):
        SecretBox({"old": NEW}, "old").open(BOX.seal(b"x", purpose="p"), purpose="p")


def test_a_rotated_file_seals_with_the_first_key_and_opens_with_all(tmp_path):
    path = tmp_path / "secrets.key"
    path.write_text(secret_keys_line(OLD))
    path.chmod(0o600)
    sealed = load_secret_box(path).seal(b"x", purpose="p")
    path.write_text(secret_keys_line(NEW) + secret_keys_line(OLD))
    box = load_secret_box(path)
    assert box.open(sealed, purpose="p") == b"x"
    assert box.seal(b"x", purpose="p").split(":")[1] == secret_key_id(NEW)


@pytest.mark.parametrize(
    "text",
    ["", "\n", "x y\n", f"{secret_key_id(OLD)} {NEW.hex()}\n", f"{secret_key_id(b'a')} 61\n"],
)
def test_a_file_that_holds_no_key_is_refused(tmp_path, text):
    path = tmp_path / "secrets.key"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(OperatorError) as caught:
        load_secret_box(path)
    assert caught.value.code is ErrorCode.FILE_UNREADABLE


def test_a_file_that_others_may_read_is_refused(tmp_path):
    path = tmp_path / "secrets.key"
    path.write_text(secret_keys_line(OLD))
    path.chmod(0o640)
    with pytest.raises(OperatorError, match="others may read it"):
        load_secret_box(path)


def test_a_key_id_gives_nothing_of_the_key_away():
    assert secret_key_id(OLD) != secret_key_id(NEW)
    assert secret_key_id(OLD) not in OLD.hex()
