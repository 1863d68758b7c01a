import asyncio

import pytest

from provisioner.adapters.bmc_ipmitool import IpmitoolConsole, IpmitoolDoor
from provisioner.errors import ErrorCode, RackwrightError
from provisioner.ports.processes import GIVEN_FILE, Ended
from provisioner.secret import Secret
from provisioner.servers.ipmi import CHASSIS_STATUS, READ_BOOT_FLAGS
from provisioner.servers.model import ControllerAddress, ControllerProtocol

ADDRESS = ControllerAddress(
    protocol=ControllerProtocol.IPMI, host="10.0.0.1", port=6230, user="-admin", cipher_suite=3
)
E = ErrorCode
UNABLE = "Error: Unable to establish IPMI v2 / RMCP+ session\n"


class Tool:
    """ports.Processes and ports.Children that answer as told and remember what was started."""

    def __init__(self, ended=None, heard=()):
        self.ended, self.heard = ended, list(heard)
        self.argv, self.given, self.closed = [], [], 0

    async def run(self, argv, *, limit, environ=None, given=b""):
        self.argv.append(argv)
        self.given.append(given)
        if self.ended is None:
            raise TimeoutError
        return self.ended

    async def start(self, argv, *, terminal=False, given=b""):
        assert terminal
        self.argv.append(argv)
        self.given.append(given)
        return self

    async def hear(self, most):
        return self.heard.pop(0) if self.heard else b""

    async def end(self):
        self.closed += 1


def door(tool, password="s3cret"):
    return IpmitoolDoor(ADDRESS, Secret(password), tool)


def ask(tool, request=CHASSIS_STATUS):
    return asyncio.run(door(tool).ask(request))


def test_the_command_line_names_suite_and_one_transmission_and_no_password():
    tool = Tool(Ended(status=0, output=b" 21 10 40 54\n"))
    answer = ask(tool, READ_BOOT_FLAGS)
    assert (answer.code, answer.data.hex()) == (0, "21104054")
    (argv,) = tool.argv
    assert argv[:5] == ["ipmitool", "-I", "lanplus", "-C", "3"]
    assert argv[argv.index("-R") + 1] == "1"
    assert argv[-5:] == ["0x00", "0x09", "0x05", "0x00", "0x00"]
    assert argv[argv.index("-U") + 1] == "-admin"
    assert not [word for word in argv if "s3cret" in word]
    assert tool.given == [b"s3cret\n"]


def test_a_long_answer_comes_in_several_lines():
    lines = b" 01" * 16 + b"\n" + b" 02" * 3 + b"\n"
    assert ask(Tool(Ended(status=0, output=lines))).data == b"\x01" * 16 + b"\x02" * 3


def test_a_completion_code_is_an_answer():
    said = (
        b"Unable to send RAW command (channel=0x0 netfn=0x0 lun=0x0 cmd=0x6 rsp=0xc1): "
        b"Invalid command\n"
    )
    assert ask(Tool(Ended(status=1, output=b"", error=said))).code == 0xC1


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("> RAKP 2 HMAC is invalid\n" + UNABLE, E.CONTROLLER_PASSWORD),
        (
            "RAKP 2 message indicates an error : unauthorized name\n" + UNABLE,
            E.CONTROLLER_PASSWORD,
        ),
        (
            "Error in open session response message : insufficient resources for session\n"
            + UNABLE,
            E.CONTROLLER_BUSY,
        ),
        (
            "Error in open session response message : invalid authentication algorithm\n\n"
            + UNABLE,
            E.CONTROLLER_REFUSED,
        ),
        (
            "RAKP 2 message indicates an error : unauthorized role or privilege level requested\n",
            E.CONTROLLER_REFUSED,
        ),
        ("RAKP 2 message indicates an error : invalid role\n" + UNABLE, E.CONTROLLER_REFUSED),
        (
            "Get Auth Capabilities error\n"
            "Error issuing Get Channel Authentication Capabilities request\n" + UNABLE,
            E.CONTROLLER_UNREACHABLE,
        ),
        (
            "Address lookup for nohost failed\nCould not open socket!\n" + UNABLE,
            E.CONTROLLER_UNREACHABLE,
        ),
    ],
)
def test_sessions_that_were_not_opened_are_told_apart(said, code):
    """Words of ipmitool 1.8.19 with -v."""
    with pytest.raises(RackwrightError) as failed:
        ask(Tool(Ended(status=1, output=b"", error=said.encode())))
    assert failed.value.code is code
    assert "10.0.0.1:6230" in failed.value.brief


def test_a_process_that_hangs_is_a_controller_that_does_not_answer():
    with pytest.raises(RackwrightError) as failed:
        ask(Tool(None))
    assert failed.value.code is E.CONTROLLER_UNREACHABLE


def test_what_cannot_be_read_is_nonsense():
    with pytest.raises(RackwrightError) as failed:
        ask(Tool(Ended(status=0, output=b"Segmentation fault")))
    assert failed.value.code is E.CONTROLLER_NONSENSE


def listen(tool):
    async def all_of_it():
        console = IpmitoolConsole(ADDRESS, Secret("s3cret"), tool, tool)
        return b"".join([part async for part in console.stream()])

    return asyncio.run(all_of_it())


def test_a_console_is_taken_over_and_its_banner_left_out():
    heard = [b"Loading...\r\n[SOL Session opera", b"tional.  Use ~? for help]\r\nboo", b"ting\r\n"]
    tool = Tool(Ended(status=1, output=b""), heard)
    assert listen(tool) == b"booting\r\n"
    assert [argv[-2:] for argv in tool.argv] == [["sol", "deactivate"], ["sol", "activate"]]
    assert tool.argv[1][tool.argv[1].index("-f") + 1] == GIVEN_FILE
    assert tool.closed == 1


def test_a_console_that_does_not_open_is_an_error():
    tool = Tool(Ended(status=1, output=b""), [b"> RAKP 2 HMAC is invalid\r\n"])
    with pytest.raises(RackwrightError) as failed:
        listen(tool)
    assert failed.value.code is E.CONTROLLER_PASSWORD
    assert tool.closed == 1
