"""The one plain-HTTP answer of the provisioning network: a boot's iPXE script, once.

iPXE has no trust anchor, so the script travels in clear; what it carries is a token that
opens one boot, handed out once, in a window that opens when the controller confirmed
power-on. A second request for it means that somebody else is listening.
"""

import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from provisioner.about import learned
from provisioner.boot.token import TOKEN_BYTES, digest, new_token
from provisioner.errors import TransientError
from provisioner.ports.boots import Boots
from provisioner.ports.clock import Clock
from provisioner.ports.journal import CallJournal
from provisioner.secret import Secret
from provisioner.servers.operation import Boot
from provisioner.service.agent_api import ALARM, Rings
from provisioner.service.rate import Rate
from provisioner.service.replies import application
from provisioner.store.waiting import stored

PATH: Final = "/boot/ipxe"
MAC: Final = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}")
PER_SECOND, BURST = 5.0, 30.0
MOST_ASKED: Final = 900
"""Rounds of a second in which a window may still open; the operation's deadline is shorter."""

Script = Callable[[Boot, Secret], str]
"""The script of a boot with its token in it; reads the server's record, so it may block."""


@dataclass(slots=True, kw_only=True)
class BootScripts:
    """The application's parts.

    Attributes:
        shut: The script for a machine without a running operation.
        url: Where this application answers, without a path: "http://10.66.0.1:8080".
        held: Why no machine gets a script now (invariant 16), "" otherwise; it waits.
    """

    boots: Boots
    bell: Rings
    calls: CallJournal
    script: Script
    shut: str
    url: str
    clock: Clock
    held: str = ""
    rate: Rate = field(init=False)

    def __post_init__(self) -> None:
        self.rate = Rate(self.clock, PER_SECOND, BURST)

    def app(self) -> Starlette:
        """The application; plain HTTP, and nothing else on its port."""
        return application([Route(PATH, self._ipxe, methods=["GET"])])

    async def _ipxe(self, request: Request) -> Response:
        source = request.client.host if request.client else ""
        try:
            self.rate.take(source)
        except TransientError as error:
            return PlainTextResponse(error.brief, 429)
        if request.method != "GET":  # a HEAD must not take the script
            return Response(status_code=405)
        mac, asked = (request.query_params.get(key, "") for key in ("mac", "asked"))
        mac = mac.lower()
        if self.held:
            return PlainTextResponse(self._wait(mac, asked) if MAC.fullmatch(mac) else self.shut)
        boot = await self._boot(mac)
        script = await self._taken(boot, mac, source) if boot and _is_open(boot) else None
        if script is not None:
            return PlainTextResponse(script, headers={"Cache-Control": "no-store"})
        # another request may have taken it in this moment, or the operation has ended
        boot = await self._boot(mac)
        if boot is None:
            return PlainTextResponse(self.shut)
        if boot.served_at is not None:
            return await self._alarm(boot, source)
        return PlainTextResponse(self._wait(mac, asked))

    async def _boot(self, mac: str) -> Boot | None:
        boot = await stored(self.boots.boot_of_mac, mac) if MAC.fullmatch(mac) else None
        if boot is not None:
            learned(server=boot.server, operation=boot.operation, epoch=boot.epoch)
        return boot

    async def _taken(self, boot: Boot, mac: str, source: str) -> str | None:
        """The script with a token of its own; None where it cannot be had now."""
        token = new_token(secrets.token_bytes(TOKEN_BYTES))
        # made before the token is taken: a script that cannot be made must not use up the boot
        text = await stored(self.script, boot, token)
        if not await stored(self.boots.hand_out, mac, digest(token), now=self.clock.wall()):
            return None
        await stored(self.calls.call, boot.server, "boot", f"script to {source}", "ok")
        return text

    async def _alarm(self, boot: Boot, source: str) -> Response:
        """Somebody asked a second time: one of the two is not our server."""
        await stored(self.calls.call, boot.server, "boot", f"script to {source}", "refused: taken")
        await stored(self.bell.ring, boot.operation, ALARM)
        return PlainTextResponse(self.shut, 403)

    def _wait(self, mac: str, asked: str) -> str:
        """Ask again in a second; after many rounds the machine is switched off."""
        rounds = int(asked) if asked.isascii() and asked.isdigit() and len(asked) < 6 else 0  # noqa: PLR2004
        if rounds >= MOST_ASKED:
            return self.shut
        again = f"{self.url}{PATH}?mac={mac}&asked={rounds + 1}"
        return f"#!ipxe\n:again\nsleep 1\nchain --replace {again} || goto again\n"


def _is_open(boot: Boot) -> bool:
    return boot.window_opened_at is not None and boot.served_at is None
