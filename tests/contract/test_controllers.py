"""One suite of what a controller must do, on fakes and over sockets on real emulators."""

import asyncio

import pytest

from provisioner.errors import ErrorCode, RackwrightError
from provisioner.ports.controllers import (
    AddressFinder,
    BootDevice,
    BootProgress,
    ConsoleSource,
    MediaLister,
    NonceKeeper,
    PowerAct,
    RestorePolicy,
)
from provisioner.servers.model import FirmwareMode, Power
from tests.contract.emulators import DRIVE_SERIAL
from tests.contract.rigs import UUID

NONCE = bytes(range(100, 113))


async def code_of(call):
    with pytest.raises(RackwrightError) as failed:
        await call
    return failed.value.code


# --- what it does ------------------------------------------------------------------------------
def test_it_says_who_it_is(rig):
    identity = rig.run(lambda r: r.ask(lambda c: c.identity()))
    assert identity.system_uuid == UUID
    assert (identity.serial is not None) is rig.expected.system_serial
    assert identity.certificate_sha256 == rig.pin


def test_power_goes_on_and_off_as_seen_from_outside(rig):
    async def scenario(r):
        await r.ask(lambda c: c.press(PowerAct.ON))
        seen = [await r.reach(Power.ON), r.power()]
        await r.ask(lambda c: c.press(PowerAct.OFF))
        return [*seen, await r.reach(Power.OFF), r.power()]

    assert rig.run(scenario) == [Power.ON, "on", Power.OFF, "off"]


def test_a_button_pressed_again_is_no_error(rig):
    async def scenario(r):
        for act, wanted in ((PowerAct.ON, Power.ON), (PowerAct.OFF, Power.OFF)):
            for _ in range(2):
                await r.ask(lambda c, act=act: c.press(act))
                assert await r.reach(wanted) is wanted

    rig.run(scenario)


def test_the_graceful_button_ends_in_off(rig):
    async def scenario(r):
        await r.ask(lambda c: c.press(PowerAct.ON))
        await r.reach(Power.ON)
        await r.ask(lambda c: c.press(PowerAct.SOFT_OFF))
        return await r.reach(Power.OFF)

    assert rig.run(scenario) is Power.OFF


def test_a_power_cycle_ends_in_on_or_is_refused(rig):
    async def scenario(r):
        await r.ask(lambda c: c.press(PowerAct.ON))
        await r.reach(Power.ON)
        if not r.expected.cycle:
            refused = r.ask(lambda c: c.press(PowerAct.CYCLE))
            assert await code_of(refused) is ErrorCode.CONTROLLER_REFUSED
            return Power.ON
        await r.ask(lambda c: c.press(PowerAct.CYCLE))
        return await r.reach(Power.ON)

    assert rig.run(scenario) is Power.ON


@pytest.mark.parametrize(
    ("device", "mode"),
    [(BootDevice.NETWORK, FirmwareMode.UEFI), (BootDevice.DISK, FirmwareMode.BIOS)],
)
def test_the_boot_device_is_set_and_reads_back(rig, device, mode):
    async def scenario(r):
        controller = r.open()
        await controller.set_boot_once(device, mode)
        setting = await controller.read_boot()
        await controller.close()
        return setting

    setting = rig.run(scenario)
    assert (setting.device, rig.boot()) == (device, device)
    assert setting.once is rig.expected.once
    assert setting.mode is (mode if rig.expected.mode else None)


def test_an_override_is_gone_after_one_start_where_the_emulator_can(rig):
    async def scenario(r):
        controller = r.open()
        await controller.set_boot_once(BootDevice.NETWORK, FirmwareMode.UEFI)
        await controller.press(PowerAct.ON)
        await r.reach(Power.ON)
        setting = await controller.read_boot()
        await controller.close()
        return setting

    left = rig.run(scenario).device
    assert (left is not BootDevice.NETWORK) is rig.expected.once_reverts


def test_the_restore_policy_is_set_or_refused(rig):
    async def scenario(r):
        controller = r.open()
        assert isinstance(controller, RestorePolicy)
        if r.expected.restore_policy:
            await controller.stay_off()
        else:
            assert await code_of(controller.stay_off()) is ErrorCode.CONTROLLER_REFUSED
        await controller.close()

    rig.run(scenario)


def test_a_nonce_is_left_where_the_machine_reads_it_and_taken_back(rig):
    async def scenario(r):
        assert isinstance(r.open(), NonceKeeper)
        seen = [await r.ask(lambda c: c.leave_nonce(NONCE)), r.nonces()]
        await r.ask(lambda c: c.remove_nonce())  # another conversation than the first
        return [*seen, r.nonces()]

    assert rig.run(scenario) == [rig.expected.nonce, [NONCE], []]


def test_the_console_speaks_where_there_is_one(rig):
    async def scenario(r):
        first = r.open()
        await first.identity()
        suite = first.found_address().cipher_suite  # as a verified record has it
        await first.close()
        controller = r.open(port=r.console_port, cipher_suite=suite)
        assert isinstance(controller, ConsoleSource) is r.expected.console
        if not r.expected.console:
            return b"Rackwright"
        heard, stream = b"", controller.stream()
        async with asyncio.timeout(20.0):
            async for part in stream:
                heard += part
                if b"Rackwright" in heard or b"hello" in heard:
                    break
        await stream.aclose()
        await controller.close()
        return heard

    heard = rig.run(scenario)
    assert b"Rackwright" in heard or b"hello" in heard


def test_boot_progress_is_not_made_up(rig):
    async def scenario(r):
        controller = r.open()
        assert isinstance(controller, BootProgress) is r.expected.boot_progress
        said = await controller.has_started() if r.expected.boot_progress else None
        await controller.close()
        return said

    assert rig.run(scenario) is None


def test_drives_are_named_where_the_controller_keeps_a_list(rig):
    async def scenario(r):
        controller = r.open()
        assert isinstance(controller, MediaLister) is r.expected.media
        named = await controller.media() if r.expected.media else ()
        await controller.close()
        return [(each.serial, each.bytes) for each in named]

    assert rig.run(scenario) == ([(DRIVE_SERIAL, 1 << 40)] if rig.expected.media else [])


def test_the_address_is_completed_by_what_was_found_out(rig):
    async def scenario(r):
        controller = r.open()
        assert isinstance(controller, AddressFinder)
        await controller.identity()
        await controller.close()
        return controller.found_address()

    address = rig.run(scenario)
    assert address.cipher_suite in {3, 17} or address.system == UUID


def test_one_controller_answers_many_calls_and_closes_twice(rig):
    async def scenario(r):
        controller = r.open()
        powers = {await controller.read_power() for _ in range(5)}
        await controller.close()
        await controller.close()
        return powers

    assert rig.run(scenario) == {Power.OFF}


# --- faults, each caused from outside ------------------------------------------------------------
def test_a_wrong_password_is_tried_once_on_the_wire(rig):
    before = rig.tries()
    refused = rig.run(lambda r: code_of(r.ask(lambda c: c.read_power(), password="wrong")))
    assert refused is ErrorCode.CONTROLLER_PASSWORD
    assert rig.tries() - before == 1
    assert rig.run(lambda r: r.ask(lambda c: c.read_power())) is Power.OFF


def test_an_unknown_user_is_a_wrong_password_too(rig):
    before = rig.tries()
    refused = rig.run(lambda r: code_of(r.ask(lambda c: c.read_power(), user="nobody")))
    assert refused is ErrorCode.CONTROLLER_PASSWORD
    assert rig.tries() - before == 1


def test_a_slow_controller_is_waited_for(rig):
    rig.be_slow(0.08)
    assert rig.run(lambda r: r.ask(lambda c: c.read_power())) is Power.OFF


def test_an_accepted_button_is_no_outcome(rig):
    async def scenario(r):
        r.be_deaf(r.expected.deaf)
        await r.ask(lambda c: c.press(PowerAct.ON))
        return await r.reach(Power.ON, seconds=1.0 if r.expected.deaf else 10.0)

    assert rig.run(scenario) is (Power.OFF if rig.expected.deaf else Power.ON)
