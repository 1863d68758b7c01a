import asyncio

import pytest

from provisioner.adapters.bmc_ipmi import IpmiController
from provisioner.errors import ErrorCode, RackwrightError
from provisioner.ports.controllers import BootDevice, BootSetting, PowerAct
from provisioner.servers import ipmi
from provisioner.servers.ipmi import IpmiAnswer
from provisioner.servers.model import ControllerAddress, ControllerProtocol, FirmwareMode, Power

ADDRESS = ControllerAddress(
    protocol=ControllerProtocol.IPMI, host="10.0.0.1", port=623, user="admin"
)
E = ErrorCode
OK = IpmiAnswer(code=0)


class Door:
    """bmc_ipmi.IpmiDoor that answers by network function and command."""

    def __init__(self, **answers):
        self.answers, self.asked, self.closed = answers, [], False

    async def ask(self, request):
        self.asked.append(request)
        name = f"x{request.netfn:02x}{request.command:02x}"
        answer = self.answers.get(name, OK)
        return answer(request) if callable(answer) else answer

    def cipher_suite(self):
        return 3 if self.asked else None

    async def close(self):
        self.closed = True


def do(door, act, left=None):
    controller = IpmiController(ADDRESS, door, None, {} if left is None else left)
    return asyncio.run(act(controller))


def code_of(door, act):
    with pytest.raises(RackwrightError) as failed:
        do(door, act)
    return failed.value.code


def data(text, code=0):
    return IpmiAnswer(code=code, data=bytes.fromhex(text))


@pytest.mark.parametrize(
    ("status", "power"), [("21104054", Power.ON), ("20104054", Power.OFF), ("01", Power.ON)]
)
def test_power_out_of_the_chassis_status(status, power):
    assert do(Door(x0001=data(status)), lambda c: c.read_power()) is power


@pytest.mark.parametrize(
    ("act", "byte"),
    [
        (PowerAct.OFF, 0),
        (PowerAct.ON, 1),
        (PowerAct.CYCLE, 2),
        (PowerAct.SOFT_OFF, 5),
    ],
)
def test_buttons(act, byte):
    door = Door()
    do(door, lambda c: c.press(act))
    assert door.asked[-1].data == bytes([byte])


@pytest.mark.parametrize(
    ("code", "found"),
    [
        (0xC0, E.CONTROLLER_BUSY),
        (0xC3, E.CONTROLLER_BUSY),
        (0xD2, E.CONTROLLER_BUSY),
        (0xC1, E.CONTROLLER_REFUSED),
        (0xD4, E.CONTROLLER_REFUSED),
        (0xD5, E.CONTROLLER_REFUSED),
        (0x99, E.CONTROLLER_REFUSED),
    ],
)
def test_completion_codes(code, found):
    assert code_of(Door(x0002=IpmiAnswer(code=code)), lambda c: c.press(PowerAct.ON)) is found


@pytest.mark.parametrize("refusal", [0xC1, 0xCC, 0x80])
def test_a_controller_that_cannot_keep_boot_flags_still_gets_them(refusal):
    """Quirk: OpenBMC refuses the parameter that keeps them."""

    def answer(request):
        return IpmiAnswer(code=refusal) if request.data[0] == 3 else OK

    door = Door(x0008=answer)
    do(door, lambda c: c.set_boot_once(BootDevice.NETWORK, FirmwareMode.UEFI))
    assert [each.data.hex() for each in door.asked] == ["0308", "05a004000000"]


@pytest.mark.parametrize(
    ("flags", "setting"),
    [
        (
            "0105a004000000",
            BootSetting(device=BootDevice.NETWORK, once=True, mode=FirmwareMode.UEFI),
        ),
        (
            "0105c008000000",
            BootSetting(device=BootDevice.DISK, once=False, mode=FirmwareMode.BIOS),
        ),
        ("01050004000000", BootSetting(device=BootDevice.NETWORK)),
        ("01050000000000", BootSetting(device=None)),
        ("0105a014000000", BootSetting(device=None, once=True, mode=FirmwareMode.UEFI)),
    ],
)
def test_boot_settings_as_read(flags, setting):
    assert do(Door(x0009=data(flags)), lambda c: c.read_boot()) == setting


def test_a_controller_without_boot_flags_reports_none():
    assert do(Door(x0009=IpmiAnswer(code=0xC1)), lambda c: c.read_boot()).device is None


@pytest.mark.parametrize("said", ["", "0102", "01030000"])
def test_boot_flags_cut_short_are_nonsense(said):
    assert code_of(Door(x0009=data(said)), lambda c: c.read_boot()) is E.CONTROLLER_NONSENSE


def fru(contents):
    """Answers for an inventory of these bytes."""

    def part(request):
        offset, length = int.from_bytes(request.data[1:3], "little"), request.data[3]
        read = contents[offset : offset + length]
        return IpmiAnswer(code=0, data=bytes([len(read)]) + read)

    return {"x0a10": data(len(contents).to_bytes(2, "little").hex() + "00"), "x0a11": part}


AREA = b"\x01\x04\x19" + b"".join(
    bytes([0xC0 | len(each)]) + each for each in (b"ACME", b"HOST", b"P/N", b"1.0", b"SN-0002")
)
INVENTORY = b"\x01\x00\x00\x00\x01\x00\x00\xfe" + AREA + b"\xc1" + bytes(20)


def test_the_guid_says_who_it_is_and_the_inventory_is_left_alone():
    door = Door(x0637=data("0102030405060708090a0b0c0d0e0f10"), **fru(INVENTORY))
    identity = do(door, lambda c: c.identity())
    assert identity.system_uuid == "01020304-0506-0708-090a-0b0c0d0e0f10"
    assert identity.serial is None
    assert len(door.asked) == 1


@pytest.mark.parametrize("guid", [data("00" * 16), IpmiAnswer(code=0xC1)])
def test_without_a_guid_the_serial_of_the_inventory_does(guid):
    identity = do(Door(x0637=guid, **fru(INVENTORY)), lambda c: c.identity())
    assert (identity.system_uuid, identity.serial) == (None, "SN-0002")


def test_without_both_it_says_nothing():
    door = Door(x0637=data("ff" * 16), x0a10=IpmiAnswer(code=0xCB))
    identity = do(door, lambda c: c.identity())
    assert (identity.system_uuid, identity.serial) == (None, None)


def test_a_guid_of_another_length_is_nonsense():
    assert code_of(Door(x0637=data("0102")), lambda c: c.identity()) is E.CONTROLLER_NONSENSE


def test_a_nonce_is_remembered_between_conversations_and_deleted_once():
    left = {}
    door = Door(x0a44=data("0700"), x0a42=data("0201"))
    assert do(door, lambda c: c.leave_nonce(bytes(13)), left) == "ipmi-sel"
    do(door, lambda c: c.remove_nonce(), left)
    do(door, lambda c: c.remove_nonce(), left)
    assert [each.command for each in door.asked] == [0x44, 0x42, 0x46]
    assert door.asked[-1].data.hex() == "02010700"


def test_a_full_event_log_is_a_refusal_and_no_reason_to_wait():
    door = Door(x0a44=IpmiAnswer(code=0xC4))
    assert code_of(door, lambda c: c.leave_nonce(bytes(13))) is E.CONTROLLER_REFUSED


def test_the_restore_policy_is_set_by_its_command():
    door = Door()
    do(door, lambda c: c.stay_off())
    assert door.asked == [ipmi.RESTORE_STAY_OFF]


def test_the_address_gets_the_suite_of_the_session():
    async def ask(controller):
        before = controller.found_address()
        await controller.read_power()
        await controller.close()
        return before, controller.found_address()

    door = Door(x0001=data("01"))
    before, after = do(door, ask)
    assert (before.cipher_suite, after.cipher_suite) == (None, 3)
    assert door.closed
