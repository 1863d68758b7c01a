"""Whose key it is: what bears our mark is taken over from this account alone."""

import asyncio

import pytest

from cloudstack_ext.registration.reading import read_account, read_own_account

ADMIN = {"id": "1", "name": "admin", "domainid": "root"}
OTHER = {"id": "2", "name": "alice", "domainid": "acme"}


class Answers:
    """An API that lists these accounts and knows whose a key is."""

    key = "the-key"

    def __init__(self, accounts, user):
        self.accounts, self.user, self.asked = accounts, user, []

    async def every(self, command, of, parameters=None):
        assert (command, of, parameters) == ("listAccounts", "account", None)
        return tuple(self.accounts)

    async def call(self, command, parameters=None):
        self.asked.append((command, parameters))
        return {"user": self.user} if self.user else {}


@pytest.mark.parametrize(
    ("accounts", "user", "commands", "account"),
    [
        ([ADMIN], None, set(), "admin@root"),
        ([ADMIN], None, {"getUser"}, "admin@root"),
        ([ADMIN, OTHER], {"account": "admin", "domainid": "root"}, {"getUser"}, "admin@root"),
        ([ADMIN, OTHER], None, {"getUser"}, ""),
        ([ADMIN, OTHER], None, set(), ""),
        ([], None, set(), ""),
    ],
)
def test_the_keys_own_account_is_known_or_not_guessed(accounts, user, commands, account):
    api = Answers(accounts, user)

    async def read():
        return await read_account(api, await read_own_account(api), frozenset(commands))

    assert asyncio.run(read()) == account
    wanted = [("getUser", {"userapikey": "the-key"})]
    assert api.asked == (wanted if len(accounts) != 1 and "getUser" in commands else [])
