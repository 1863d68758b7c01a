"""The only module that speaks pyghmi, run as a program of its own: one JSON line in, one out.

pyghmi keeps its sessions in its classes, waits by its own clock (29 s for a controller that
stopped) and prints: so it lives in a process that can be killed. The password comes in by a
line, never by argv. Run by file name, isolated (`-I`): it imports nothing of the project.

    {"open": {"host", "port", "user", "password"}}   -> {"suite": 3 | 17}
    {"ask": [netfn, command, "hex"]}                  -> {"code": n, "data": "hex"}
    {"close": true}                                   -> {}
    any of them                                       -> {"error": "pyghmi's words"}
"""

import json
import os
import sys
from typing import IO, Any

from pyghmi.exceptions import PyghmiException
from pyghmi.ipmi.command import Command

SUITES = {256: 17, 1: 3}
"""By the hash that pyghmi tried last; it knows no others."""


def answer(session: Command | None, line: dict[str, Any]) -> tuple[Command | None, dict[str, Any]]:
    """Do what one line asks; the session that is open afterwards, and the line to answer."""
    match line:
        case {"open": dict(to)}:
            opened = opened_to(to["host"], to["port"], to["user"], to["password"])
            return opened, {"suite": SUITES.get(opened.ipmi_session.attemptedhash)}
        case {"ask": [int(netfn), int(command), str(data)]} if session is not None:
            got = session.raw_command(netfn=netfn, command=command, data=bytes.fromhex(data))
            if got["code"] not in range(256):
                return session, {"error": str(got.get("error", "timeout"))}
            return session, {"code": got["code"], "data": bytes(got["data"]).hex()}
        case {"close": _}:
            if session is not None:
                session.ipmi_session.logout()
            return None, {}
        case _:
            return session, {"error": "not understood"}


def opened_to(host: str, port: int, user: str, password: str) -> Command:
    """Log in.

    Quirk: pyghmi 1.6.19 keeps a session of text credentials in a table for ever and gives the
    dead one to the next that asks; of bytes it does not. With the privilege level named it does
    not try a refused user once more.
    """
    return Command(host, user.encode(), password.encode(), port=port, privlevel=4)


def serve(asked: IO[str], answered: IO[str]) -> None:
    """Until the end of what is asked; a session that failed is dropped."""
    session = None
    for line in asked:
        try:
            session, reply = answer(session, json.loads(line))
        except (
            PyghmiException,
            OSError,
            LookupError,
            ValueError,
            TypeError,
            AssertionError,
        ) as bad:
            # pyghmi lets its parsing errors through when a controller answers nonsense
            session, reply = None, {"error": f"{type(bad).__name__}: {bad}"}
        print(json.dumps(reply), file=answered, flush=True)


if __name__ == "__main__":
    # pyghmi prints to standard output: it gets another one
    with os.fdopen(os.dup(1), "w") as private:
        os.dup2(2, 1)
        serve(sys.stdin, private)
