import subprocess

import pytest

from provisioner.seed.password_hash import sha512_crypt

# Source: the first test vector of Drepper's specification
HELLO = (
    "$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnI"
    "FNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1"
)


def test_the_specification_agrees():
    assert sha512_crypt("Hello world!", "saltstring") == HELLO


@pytest.mark.emulated
@pytest.mark.parametrize("password", ["x", "geheim", "ä" * 70, "p" * 64, "q" * 129])
def test_openssl_agrees(password):
    argv = ["openssl", "passwd", "-6", "-salt", "abcDEF0123./zzzz", "-stdin"]
    done = subprocess.run(argv, input=f"{password}\n".encode(), capture_output=True, check=True)

    assert sha512_crypt(password, "abcDEF0123./zzzz") == done.stdout.decode().strip()
