"""12: no secret in replies, logs, command lines, environments, or in the database in clear.

With the whole service and its logs at debug level: tests/service/faults/test_secrets.py. Command
lines and environments of children: tests/contract/test_conversations.py.
"""

import logging

import pytest

from provisioner.operations.consoles import CONSOLE, TokenMask
from provisioner.secret import Secret
from provisioner.service.logs import masked
from tests.unit.operations.world import ONE

SHOWN = (
    b"Command line: console=ttyS0 rackwright.url=https://10.66.0.1:8443 rackwright.token=c0ffee"
    b" rackwright.mac=52:54:00:00:00:01\r\nagain: rackwright.token=decaf\nlogin: rack"
)


@pytest.mark.parametrize("size", [1, 2, 7, 16, 17, 18, 40, 400])
def test_a_boot_token_on_a_loud_console_is_not_kept_however_it_is_cut(size):
    mask, kept = TokenMask(), b""
    for at in range(0, len(SHOWN), size):
        kept += mask.pass_on(SHOWN[at : at + size])
    kept += mask.rest()
    assert kept == SHOWN.replace(b"c0ffee", b"***").replace(b"decaf", b"***")


@pytest.mark.parametrize("said", [b"tenant login: ", b"rack", b"rackwright.token", b"r"])
def test_what_may_become_a_token_is_not_lost_at_the_end(said):
    mask = TokenMask()
    assert mask.pass_on(said) + mask.rest() == said


def test_a_token_that_never_ends_is_not_held_for_ever():
    mask = TokenMask()
    kept = mask.pass_on(b"rackwright.token=" + b"a" * 100_000)
    assert kept == b"rackwright.token=***"


def test_the_console_of_an_operation_is_kept_without_its_token(world):
    world.machines["s1"].console = (b"rackwright.token=c0f", b"fee quiet\n", b"login: ")
    operation = world.ask_for_deployment()
    world.walk()
    assert world.kept.read(operation, CONSOLE) == b"rackwright.token=*** quiet\nlogin: " * 2


def test_a_whole_walk_leaves_no_secret_anywhere(world, caplog):
    """Passwords of controllers and the tenant's seed; the instance's id would be found."""
    caplog.set_level(logging.DEBUG)
    seed = f"seed of {ONE}".encode()
    secrets = (b"password of s1", seed)
    operation = world.ask_for_deployment()
    assert seed in world.database.seeds.seed(operation)
    nothing_shown(world, caplog, secrets)
    world.walk()
    world.ask_for_release()
    world.walk()
    nothing_shown(world, caplog, secrets)


def nothing_shown(world, caplog, secrets):
    found = everything(world, caplog)
    assert ONE.encode() in found
    for secret in secrets:
        assert secret not in found
        assert secret.hex().encode() not in found


def everything(world, caplog):
    files = b"".join(path.read_bytes() for path in sorted(world.folder.iterdir()))
    kept = b"".join(world.kept.files.values())
    journal = "\n".join(world.journal()).encode()
    return files + kept + journal + caplog.text.encode()


# --- logs ----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer c0ffee",
        "authorization: basic c0ffee==",
        "X-Auth-Token: c0ffee",
        "{'X-Auth-Token': 'c0ffee'}",
        '{"Password": "c0ffee"}',
        "GET /x?token=c0ffee&a=b",
        "rackwright.token=c0ffee quiet",
        "bmc_password=c0ffee",
        "private_key = c0ffee",
        "headers={'Authorization': 'Basic c0ffee'}",
    ],
)
def test_texts_of_libraries_are_logged_without_what_looks_like_a_secret(text):
    assert "c0ffee" not in masked(text)


def test_a_secret_shows_itself_nowhere():
    secret = Secret("c0ffee")
    for shown in (str(secret), repr(secret), f"{secret}", f"{[secret]}", f"{secret!r:>20}"):
        assert "c0ffee" not in shown
