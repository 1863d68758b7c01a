import pytest

from provisioner.boot.token import digest, is_same, new_token
from provisioner.secret import Secret


def test_token_is_the_random_bytes_as_text_and_nothing_shows_it():
    token = new_token(bytes(range(32)))

    assert token.reveal() == bytes(range(32)).hex()
    assert token.reveal() not in repr(token)


def test_few_random_bytes_are_no_token():
    with pytest.raises(ValueError, match="too few"):
        new_token(bytes(31))


def test_only_the_token_itself_has_its_digest():
    token = new_token(bytes(32))

    assert is_same(token, digest(token))
    assert not is_same(Secret(token.reveal() + "0"), digest(token))
    assert digest(token) == "60e05bd1b195af2f94112fa7197a5c88289058840ce7c6df9693756bc6250f55"
