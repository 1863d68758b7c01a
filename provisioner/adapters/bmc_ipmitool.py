"""The IPMI door through ipmitool: one bounded process a request, and the console.

The password reaches it as a file in memory. A suite is always named (asking the controller for
its suites costs 10 s where it does not answer, and picks ones that it then refuses); suite 0
never. One transmission a request: ipmitool 1.8.19 sends a slow request again, button and all.
"""

import re
from collections.abc import AsyncIterator, Sequence

from provisioner.errors import ErrorCode, OperatorError, RackwrightError, TransientError
from provisioner.ports.processes import GIVEN_FILE, Children, Ended, Processes
from provisioner.secret import Secret
from provisioner.servers.ipmi import IpmiAnswer, IpmiRequest
from provisioner.servers.model import ControllerAddress
from provisioner.units import Seconds

ANSWER_S = 4
"""How long a request waits for its answer; a session that nobody answers fails after twice that."""
LIMIT_S = Seconds(15.0)
DEFAULT_SUITE = 17
BANNER = b"[SOL Session operational"
MOST_BANNER = 4096
CODE = re.compile(r"rsp=0x([0-9a-f]{2})\)")
E = ErrorCode
SAYS: Sequence[tuple[str, type[RackwrightError], ErrorCode, str]] = (
    ("RAKP 2 HMAC is invalid", OperatorError, E.CONTROLLER_PASSWORD, "refuses the password"),
    ("unauthorized name", OperatorError, E.CONTROLLER_PASSWORD, "does not know the user"),
    ("insufficient resources", TransientError, E.CONTROLLER_BUSY, "has no free session"),
    ("unauthorized role", OperatorError, E.CONTROLLER_REFUSED, "gives the user no such right"),
    ("invalid role", OperatorError, E.CONTROLLER_REFUSED, "refuses this cipher suite or role"),
    ("algorithm", OperatorError, E.CONTROLLER_REFUSED, "refuses this cipher suite"),
    ("cipher suite", OperatorError, E.CONTROLLER_REFUSED, "refuses this cipher suite"),
)
"""What `-v` says of a session that was not opened. Without it ipmitool has one line for all."""


class IpmitoolDoor:
    """bmc_ipmi.IpmiDoor over ipmitool; there is no session between two requests."""

    def __init__(self, address: ControllerAddress, password: Secret, processes: Processes) -> None:
        self._address, self._password, self._processes = address, password, processes
        self._suite = address.cipher_suite or DEFAULT_SUITE

    async def ask(self, request: IpmiRequest) -> IpmiAnswer:
        """One process."""
        words = [f"{each:#04x}" for each in (request.netfn, request.command, *request.data)]
        argv = _argv(self._address, self._suite, "/dev/stdin", "-N", str(ANSWER_S), "-R", "1")
        try:
            ended = await self._processes.run(
                [*argv, "raw", *words],
                limit=LIMIT_S,
                given=self._password.reveal().encode() + b"\n",
            )
        except TimeoutError as error:
            raise _silent(self._address) from error
        return _answer(self._address, ended)

    def cipher_suite(self) -> int | None:
        """The one it is told."""
        return self._suite

    async def close(self) -> None:
        """Nothing is open."""


class IpmitoolConsole:
    """ports.ConsoleSource: serial over LAN by an ipmitool that stays, on a terminal of its own."""

    def __init__(
        self,
        address: ControllerAddress,
        password: Secret,
        processes: Processes,
        children: Children,
    ) -> None:
        self._address, self._password = address, password
        self._processes, self._children = processes, children
        self._suite = address.cipher_suite or DEFAULT_SUITE

    async def stream(self) -> AsyncIterator[bytes]:
        """Take the console over from whoever has it, and listen until the controller ends it.

        Quirk: many controllers go silent at power-off while the session stays open (ipmi_sim
        drops characters too): open it anew after each power-on.
        """
        given = self._password.reveal().encode() + b"\n"
        release = _argv(self._address, self._suite, "/dev/stdin", "-N", str(ANSWER_S), "-R", "1")
        await self._processes.run([*release, "sol", "deactivate"], limit=LIMIT_S, given=given)
        take = _argv(self._address, self._suite, GIVEN_FILE)
        child = await self._children.start([*take, "sol", "activate"], terminal=True, given=given)
        try:
            head = b""
            while BANNER not in head or b"\n" not in head.partition(BANNER)[2]:
                part = await child.hear(MOST_BANNER)
                if not part or len(head) > MOST_BANNER:
                    raise _failure(self._address, head.decode("latin-1"))
                head += part
            yield head.partition(BANNER)[2].partition(b"\n")[2]
            while part := await child.hear(MOST_BANNER):
                yield part
        finally:
            await child.end()


def _argv(address: ControllerAddress, suite: int, password_file: str, *more: str) -> list[str]:
    to = ["-H", address.host, "-p", str(address.port), "-U", address.user, "-f", password_file]
    return ["ipmitool", "-I", "lanplus", "-C", str(suite), "-L", "ADMINISTRATOR", "-v", *to, *more]


def _answer(address: ControllerAddress, ended: Ended) -> IpmiAnswer:
    error = ended.error.decode("utf-8", "replace")
    code = CODE.search(error)
    if code is not None:
        return IpmiAnswer(code=int(code[1], 16))
    if ended.status:
        raise _failure(address, error)
    try:
        return IpmiAnswer(code=0, data=bytes.fromhex(ended.output.decode("ascii")))
    except ValueError as broken:
        raise OperatorError(
            ErrorCode.CONTROLLER_NONSENSE,
            f"controller {address.host}:{address.port} answers what ipmitool cannot show",
            error,
        ) from broken


def _failure(address: ControllerAddress, said: str) -> RackwrightError:
    for words, kind, code, brief in SAYS:
        if words in said:
            return kind(code, f"controller {address.host}:{address.port} {brief}", said)
    return _silent(address, said)


def _silent(address: ControllerAddress, detail: str = "") -> TransientError:
    return TransientError(
        ErrorCode.CONTROLLER_UNREACHABLE,
        f"controller {address.host}:{address.port} does not answer",
        detail,
    )
