import asyncio
from dataclasses import replace

import pytest

from provisioner.errors import ErrorCode, OperatorError, TransientError
from provisioner.operations.conversation import default_driver
from provisioner.ports.controllers import BootDevice, BootSetting, PowerAct
from provisioner.secret import Secret
from provisioner.servers.model import (
    ControllerDriver,
    ControllerProtocol,
    FirmwareMode,
    Power,
)
from tests.unit.operations.rig import IDENTITY, PASSWORD, Rig, anybody, other_machine, server


def code_of(rig, act, **more):
    with pytest.raises((OperatorError, TransientError)) as failed:
        rig.talk(act, **more)
    return failed.value.code


# --- power -------------------------------------------------------------------------------------
def test_on_is_pressed_once_and_looked_at_until_it_is_so():
    rig = Rig(power_takes_s=9.0)
    reading = rig.talk(lambda talk: talk.reach_on(allowed=anybody, until=rig.within(60.0)))
    assert (reading.power, reading.source) == (Power.ON, "test")
    assert rig.journal.texts.count("power on") == 1
    assert rig.journal.texts.count("read power") > 3


@pytest.mark.parametrize("power", [Power.ON, Power.OFF])
def test_what_is_so_already_gets_no_button(power):
    rig = Rig(power=power)
    act = {
        Power.ON: lambda talk: talk.reach_on(allowed=anybody, until=rig.within(60.0)),
        Power.OFF: lambda talk: talk.reach_off(until=rig.within(60.0)),
    }[power]
    assert rig.talk(act).power is power
    assert rig.journal.texts == ["read identity", "read power"]


def test_a_reading_carries_the_time_before_it_was_asked():
    rig = Rig(latency_s=3.0)
    before = rig.clock.wall()
    reading = rig.talk(lambda talk: talk.power(), server(identity=None))
    assert reading.at == before
    assert rig.clock.wall() >= before + 3.0


def test_a_controller_that_accepts_and_does_nothing_is_found_out_at_the_deadline():
    rig = Rig(deaf_to={PowerAct.ON})
    until = rig.within(60.0)
    assert (
        code_of(rig, lambda talk: talk.reach_on(allowed=anybody, until=until))
        is ErrorCode.POWER_NOT_REACHED
    )
    assert until <= rig.clock.wall() < until + 5.0


def test_graceful_first_then_hard():
    rig = Rig(power=Power.ON, soft_off_takes_s=None)
    began = rig.clock.monotonic()
    act = lambda talk: talk.reach_off(until=rig.within(300.0), graceful=120.0)  # noqa: E731
    assert rig.talk(act).power is Power.OFF
    buttons = [text for text in rig.journal.texts if text.startswith("power ")]
    assert buttons == ["power soft-off", "power off"]
    assert 120.0 <= rig.clock.monotonic() - began < 130.0


def test_graceful_suffices_where_the_system_listens():
    rig = Rig(power=Power.ON, soft_off_takes_s=30.0)
    act = lambda talk: talk.reach_off(until=rig.within(300.0), graceful=120.0)  # noqa: E731
    assert rig.talk(act).power is Power.OFF
    assert "power off" not in rig.journal.texts


def press_by(rig, press):
    """Every controller of this rig presses like this."""
    opened = rig.controllers.open

    def open_other(*given, **more):
        controller = opened(*given, **more)
        plain = controller.press
        controller.press = lambda act: press(plain, act)
        return controller

    rig.controllers.open = open_other


def test_a_controller_without_a_graceful_button_gets_the_hard_one():
    rig, asked = Rig(power=Power.ON), []

    async def press(plain, act):
        asked.append(act)
        if act is PowerAct.SOFT_OFF:
            raise OperatorError(ErrorCode.CONTROLLER_REFUSED, "no such button")
        await plain(act)

    press_by(rig, press)
    act = lambda talk: talk.reach_off(until=rig.within(60.0), graceful=30.0)  # noqa: E731
    assert rig.talk(act).power is Power.OFF
    assert asked == [PowerAct.SOFT_OFF, PowerAct.OFF]


def test_unknown_is_not_off():
    rig = Rig(silent=True)
    assert rig.talk(lambda talk: talk.power(), server(identity=None)).power is Power.UNKNOWN
    until = rig.within(40.0)
    found = code_of(rig, lambda talk: talk.reach_off(until=until))
    assert found in {ErrorCode.POWER_NOT_REACHED, ErrorCode.CONTROLLER_BREAKER}


def test_a_deadline_bounds_even_the_first_call_of_a_stuck_controller():
    rig = Rig(stuck=True)
    until = rig.within(8.0)
    code_of(rig, lambda talk: talk.reach_off(until=until))
    assert rig.clock.wall() < until + 3.0


def test_a_button_refused_because_it_became_so_by_itself_is_a_success():
    rig = Rig(power=Power.ON)

    async def press(_plain, _act):
        rig.machine.power = Power.OFF
        raise OperatorError(ErrorCode.CONTROLLER_REFUSED, "it is off")

    press_by(rig, press)
    assert rig.talk(lambda talk: talk.reach_off(until=rig.within(60.0))).power is Power.OFF
    assert rig.journal.lines[2][2:] == ("power off", "CONTROLLER_REFUSED: it is off")


def test_a_button_refused_for_good_is_an_error_at_once():
    rig = Rig(refuses={"press"})
    began = rig.clock.monotonic()
    act = lambda talk: talk.reach_on(allowed=anybody, until=rig.within(600.0))  # noqa: E731
    assert code_of(rig, act) is ErrorCode.CONTROLLER_REFUSED
    assert rig.clock.monotonic() - began < 5.0


# --- patience ----------------------------------------------------------------------------------
def test_a_busy_controller_is_asked_again():
    rig = Rig(busy=3)
    assert rig.talk(lambda talk: talk.power()).power is Power.OFF
    assert [line[3] for line in rig.journal.lines] == [
        "CONTROLLER_BUSY: the controller is busy",
        "CONTROLLER_BUSY: the controller is busy",
        "CONTROLLER_BUSY: the controller is busy",
        "ok",
        "ok",
    ]


def test_one_that_stays_busy_is_given_up_after_half_a_minute():
    rig = Rig(busy=99)
    began = rig.clock.monotonic()
    assert rig.talk(lambda talk: talk.power()).why == "CONTROLLER_BUSY: the controller is busy"
    assert 25.0 < rig.clock.monotonic() - began < 40.0


@pytest.mark.parametrize(
    ("behaviour", "code"),
    [
        ({"refuses": {"read_power"}}, ErrorCode.CONTROLLER_REFUSED),
        ({"nonsense": True}, ErrorCode.CONTROLLER_NONSENSE),
    ],
)
def test_what_is_not_known_to_pass_is_not_asked_again(behaviour, code):
    rig = Rig(**behaviour)
    record = server(identity=None)
    assert code_of(rig, lambda talk: talk.power(), record=record) is code
    assert len(rig.machine.calls) == 1


def test_no_call_takes_longer_than_its_limit_whatever_the_library_waits_for():
    rig = Rig(stuck=True)
    began = rig.clock.monotonic()
    reading = rig.talk(lambda talk: talk.power(), server(identity=None))
    assert "did not answer within 20 s" in reading.why
    assert rig.clock.monotonic() - began == pytest.approx(20.0)


def test_a_dead_controller_is_left_alone_after_three_failures():
    rig = Rig(silent=True)
    record = server(identity=None)
    for _ in range(3):
        rig.talk(lambda talk: talk.power(), record)
    calls = len(rig.machine.calls)
    reading = rig.talk(lambda talk: talk.power(), record)
    assert reading.power is Power.UNKNOWN
    assert "left alone" in reading.why
    assert len(rig.machine.calls) == calls
    assert list(rig.conversations.left_alone()) == ["10.0.0.1:623"]


def test_it_does_not_wait_for_a_breaker_that_outlasts_its_deadline():
    rig = Rig(silent=True)
    record = server(identity=None)
    for _ in range(6):
        rig.clock.advance(1000.0)
        rig.talk(lambda talk: talk.power(), record)
    began = rig.clock.monotonic()
    act = lambda talk: talk.reach_off(until=rig.within(100.0))  # noqa: E731
    assert code_of(rig, act, record=record) is ErrorCode.CONTROLLER_BREAKER
    assert rig.clock.monotonic() - began < 1.0


def test_a_wrong_password_is_tried_once_whoever_asks_again():
    rig = Rig()
    for _ in range(5):
        found = code_of(rig, lambda talk: talk.power(), password=Secret("wrong"))
        assert found is ErrorCode.CONTROLLER_PASSWORD
    assert rig.machine.password_tries == 1
    assert rig.talk(lambda talk: talk.power()).power is Power.OFF


# --- identity ------------------------------------------------------------------------------------
def test_another_machine_is_never_acted_upon():
    rig = Rig()
    rig.machine.identity = other_machine()
    for act in (
        lambda talk: talk.power(),
        lambda talk: talk.reach_on(allowed=anybody, until=rig.within(60.0)),
        lambda talk: talk.reach_off(until=rig.within(60.0)),
        lambda talk: talk.boot_from(BootDevice.NETWORK),
        lambda talk: talk.leave_nonce(bytes(13)),
        lambda talk: talk.remove_nonce(),
        lambda talk: talk.stay_off(),
        lambda talk: talk.console().__anext__(),
    ):
        assert code_of(rig, act) is ErrorCode.OTHER_MACHINE
    assert set(rig.machine.calls) == {"identity"}


def test_every_conversation_compares_anew():
    rig = Rig()
    rig.talk(lambda talk: talk.power())
    rig.machine.identity = other_machine()
    assert code_of(rig, lambda talk: talk.power()) is ErrorCode.OTHER_MACHINE


def test_a_server_without_a_remembered_identity_is_asked_without_comparing():
    rig = Rig()
    rig.talk(lambda talk: talk.power(), server(identity=None))
    assert rig.machine.calls == ["read power"]


def test_the_pinned_certificate_is_handed_to_the_controller():
    rig = Rig(identity=replace(IDENTITY, certificate_sha256="aa"))
    record = server(identity=replace(IDENTITY, certificate_sha256="bb"))
    found = code_of(rig, lambda talk: talk.power(), record=record, password=Secret("wrong"))
    assert found is ErrorCode.CONTROLLER_CERTIFICATE
    assert rig.machine.password_tries == 0


# --- boot device ---------------------------------------------------------------------------------
def test_the_boot_device_is_set_with_the_records_firmware_mode_and_read_back():
    rig = Rig()
    setting = rig.talk(lambda talk: talk.boot_from(BootDevice.NETWORK))
    assert setting == BootSetting(device=BootDevice.NETWORK, once=True, mode=FirmwareMode.UEFI)
    assert rig.journal.texts == ["read identity", "boot network once uefi", "read boot"]


def test_a_controller_that_reports_another_device_is_not_believed():
    rig = Rig(misreports_boot=True)
    act = lambda talk: talk.boot_from(BootDevice.NETWORK)  # noqa: E731
    assert code_of(rig, act) is ErrorCode.BOOT_DEVICE_NOT_SET


@pytest.mark.parametrize("behaviour", [{"reports_boot": False}, {"refuses": {"read_boot"}}])
def test_one_that_does_not_report_it_is_recorded_as_such(behaviour):
    rig = Rig(**behaviour)
    setting = rig.talk(lambda talk: talk.boot_from(BootDevice.DISK))
    assert setting == BootSetting(device=None)


# --- faces ---------------------------------------------------------------------------------------
def test_a_nonce_is_left_and_taken_back():
    rig = Rig()
    assert rig.talk(lambda talk: talk.leave_nonce(bytes(13))) == "ipmi-sel"
    assert rig.machine.nonce == bytes(13)
    rig.talk(lambda talk: talk.remove_nonce())
    assert rig.machine.nonce is None


def test_a_controller_without_a_place_for_it_keeps_no_nonce():
    rig = Rig(refuses={"leave_nonce", "remove_nonce"})
    assert rig.talk(lambda talk: talk.leave_nonce(bytes(13))) is None
    rig.talk(lambda talk: talk.remove_nonce())


def test_the_restore_policy_is_set_or_its_refusal_is_told():
    rig = Rig()
    assert rig.talk(lambda talk: talk.stay_off()) == "stay-off"
    assert rig.machine.stays_off
    refusing = Rig(refuses={"stay_off"})
    assert refusing.talk(lambda talk: talk.stay_off()).startswith("refused: ")


@pytest.mark.parametrize("started", [True, False, None])
def test_boot_progress_is_what_the_firmware_says(started):
    rig = Rig(started=started)
    assert rig.talk(lambda talk: talk.has_started()) is started
    assert rig.journal.texts[-1] == "read boot progress"


def test_boot_progress_of_a_silent_controller_is_nothing_said():
    assert Rig(silent=True).talk(lambda talk: talk.has_started()) is None


def test_a_console_is_listened_to_until_its_end():
    rig = Rig(console=(b"one\n", b"two\n"))

    async def listen(talk):
        return b"".join([part async for part in talk.console()])

    assert rig.talk(listen) == b"one\ntwo\n"
    assert rig.journal.texts == ["read identity", "open console"]


def test_what_was_found_out_completes_the_address():
    rig = Rig(cipher_suite=3)

    async def ask(talk):
        await talk.identity()
        return talk.found_address()

    assert rig.talk(ask).cipher_suite == 3


# --- turns ---------------------------------------------------------------------------------------
def test_one_conversation_per_controller_at_a_time():
    rig = Rig()

    async def one():
        async with rig.conversations.to(server(), PASSWORD, source="x") as talk:
            await talk.power()
            await rig.clock.sleep(1.0)

    async def many():
        await asyncio.gather(*(one() for _ in range(10)))

    asyncio.run(many())
    assert rig.machine.open_at_once == 1
    assert rig.machine.open_now == 0


def test_two_controllers_are_spoken_with_at_the_same_time():
    rig = Rig()
    rig.add("10.0.0.2")

    async def one(host):
        record = server(host=host)
        # without a journal no thread is waited for, which a clock of ours would run past
        async with rig.conversations.to(record, PASSWORD, source="x", quiet=True) as talk:
            await talk.reach_on(allowed=anybody, until=rig.within(60.0))

    async def both():
        await asyncio.gather(one("10.0.0.1"), one("10.0.0.2"))

    began = rig.clock.monotonic()
    asyncio.run(both())
    assert rig.clock.monotonic() - began < 5.0


def test_sessions_end_and_the_turn_passes_on_after_a_failure():
    rig = Rig(nonsense=True)
    code_of(rig, lambda talk: talk.power())
    assert rig.machine.open_now == 0
    assert not rig.conversations.is_taken(server())


def test_a_call_that_cannot_be_ended_keeps_its_controller_fenced(monkeypatch):
    monkeypatch.setattr("provisioner.operations.controller_calls.STRAGGLER_S", 0.05)
    rig = Rig()
    seen = []

    async def whole():
        stuck = asyncio.Event()

        class Stuck:
            async def read_power(self):
                while not stuck.is_set():
                    try:
                        await stuck.wait()
                    except asyncio.CancelledError:
                        continue
                return Power.OFF

            async def close(self):
                pass

        rig.controllers.open = lambda *_given, **_more: Stuck()
        record = server(identity=None)
        async with rig.conversations.to(record, PASSWORD, source="x") as talk:
            seen.append((await talk.power()).power)
        seen.append(rig.conversations.is_taken(record))
        stuck.set()
        for _ in range(5):
            await asyncio.sleep(0)
        seen.append(rig.conversations.is_taken(record))

    asyncio.run(whole())
    assert seen == [Power.UNKNOWN, True, False]


def test_cancelling_a_conversation_gives_its_turn_back():
    rig = Rig()

    async def whole():
        async def speak():
            async with rig.conversations.to(server(), PASSWORD, source="x"):
                await asyncio.Event().wait()

        task = asyncio.create_task(speak())
        await asyncio.sleep(0)
        assert rig.conversations.is_taken(server())
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return rig.conversations.is_taken(server())

    assert asyncio.run(whole()) is False


def test_the_password_stands_in_no_line_of_the_journal():
    rig = Rig()
    code_of(rig, lambda talk: talk.power(), password=Secret("hunter2"))
    rig.talk(lambda talk: talk.reach_on(allowed=anybody, until=rig.within(60.0)))
    assert "hunter2" not in repr(rig.journal.lines)
    assert "s3cret" not in repr(rig.journal.lines)


def test_before_verification_each_protocol_has_its_library():
    assert default_driver(ControllerProtocol.REDFISH) is ControllerDriver.SUSHY
    assert default_driver(ControllerProtocol.IPMI) is ControllerDriver.PYGHMI
