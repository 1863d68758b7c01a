"""Conversations, verification and their faults over sockets, on real emulators and the fake."""

import asyncio
import base64
import logging
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from provisioner.errors import ErrorCode, RackwrightError, TransientError
from provisioner.operations.conversation import Conversations
from provisioner.operations.verification import verify_controller
from provisioner.ports.controllers import BootDevice
from provisioner.secret import Secret
from provisioner.servers.identity import swapped
from provisioner.servers.model import (
    ControllerDriver,
    ControllerIdentity,
    ControllerProtocol,
    Power,
)
from tests.contract.emulators import PASSWORD, IpmiSim, SushyEmulator
from tests.contract.garbage import GarbageDatagrams, HttpsService, http
from tests.contract.rigs import UUID
from tests.unit.operations.rig import Journal, anybody, server

OTHER = "00000000-1111-2222-3333-444444444444"


def record(rig, **fields):
    identity = ControllerIdentity(system_uuid=UUID, certificate_sha256=rig.pin)
    values = {"controller": rig.address, "driver": rig.driver, "identity": identity}
    return server(**{**values, **fields})


def conversations(rig, **more):
    journal = Journal()
    return Conversations(rig.controllers(), rig.clock, journal, **more), journal


async def talk(rig, act, password=PASSWORD, to=None, **fields):
    to = to or conversations(rig)[0]
    async with to.to(record(rig, **fields), Secret(password), source="test") as each:
        return await act(each)


def failed(rig, act, **more):
    with pytest.raises(RackwrightError) as error:
        rig.run(lambda r: talk(r, act, **more))
    return error.value.code


async def code_of(call):
    with pytest.raises(RackwrightError) as error:
        await call
    return error.value.code


# --- the way it is meant ------------------------------------------------------------------------
def test_power_is_reached_and_seen_from_outside(rig):
    async def scenario(r):
        async def on(each):
            return await each.reach_on(allowed=anybody, until=r.clock.wall() + 30.0), r.power()

        async def off(each):
            return await each.reach_off(until=r.clock.wall() + 30.0), r.power()

        return await talk(r, on), await talk(r, off)

    (on, seen_on), (off, seen_off) = rig.run(scenario)
    assert (on.power, seen_on) == (Power.ON, "on")
    assert (off.power, seen_off) == (Power.OFF, "off")


def test_graceful_off_is_reached(rig):
    async def act(each):
        await each.reach_on(allowed=anybody, until=rig.clock.wall() + 30.0)
        return await each.reach_off(until=rig.clock.wall() + 30.0, graceful=20.0)

    to, journal = conversations(rig)
    assert rig.run(lambda r: talk(r, act, to=to)).power is Power.OFF
    assert "power soft-off" in journal.texts
    assert "power off" not in journal.texts


def test_the_calls_of_a_network_boot_stand_in_the_journal_in_order(rig):
    async def act(each):
        await each.leave_nonce(bytes(13))
        await each.boot_from(BootDevice.NETWORK)
        await each.reach_on(allowed=anybody, until=rig.clock.wall() + 30.0)
        await each.remove_nonce()

    to, journal = conversations(rig)
    rig.run(lambda r: talk(r, act, to=to))
    calls = [text for text in dict.fromkeys(journal.texts) if not text.startswith("read ")]
    assert calls == ["leave nonce", "boot network once uefi", "power on", "remove nonce"]
    assert {outcome for *_, outcome in journal.lines} == {"ok"}


def test_a_uuid_in_the_other_byte_order_is_the_same_machine(rig):
    identity = ControllerIdentity(system_uuid=swapped(UUID))
    reading = rig.run(lambda r: talk(r, lambda each: each.power(), identity=identity))
    assert reading.power is Power.OFF


def test_verification_finds_the_library_and_completes_the_address(rig):
    async def scenario(r):
        asked = record(r, driver=None, identity=None)
        return await verify_controller(conversations(r)[0], asked, Secret(PASSWORD))

    found = rig.run(scenario)
    ipmi = rig.address.protocol is ControllerProtocol.IPMI
    assert found.driver is (ControllerDriver.PYGHMI if ipmi else ControllerDriver.SUSHY)
    assert found.identity.system_uuid == UUID
    assert found.identity.certificate_sha256 == rig.pin
    assert found.address.cipher_suite in {3, 17} or found.address.system == UUID
    wanted = "stay-off" if rig.expected.restore_policy else "refused: "
    assert found.restore_policy.startswith(wanted)
    assert found.power.power is Power.OFF


def test_five_at_once_take_turns(rig):
    async def scenario(r):
        to = conversations(r)[0]
        act = lambda each: each.power()  # noqa: E731
        return await asyncio.gather(*(talk(r, act, to=to) for _ in range(5)))

    assert {reading.power for reading in rig.run(scenario)} == {Power.OFF}


# --- faults -------------------------------------------------------------------------------------
def test_another_machine_behind_the_address_is_not_touched(rig):
    identity = ControllerIdentity(system_uuid=OTHER)
    act = lambda each: each.reach_on(allowed=anybody, until=rig.clock.wall() + 10.0)  # noqa: E731
    assert failed(rig, act, identity=identity) is ErrorCode.OTHER_MACHINE
    assert rig.power() == "off"


def test_nobody_at_the_address_is_unknown(rig):
    nobody = replace(rig.address, port=rig.dead_port)
    to = conversations(rig, call_limit=2.0)[0]
    act = lambda each: each.power()  # noqa: E731
    reading = rig.run(lambda r: talk(r, act, to=to, identity=None, controller=nobody))
    assert reading.power is Power.UNKNOWN
    assert reading.why.startswith("CONTROLLER_UNREACHABLE")


def test_a_wrong_password_is_tried_once_on_the_wire_however_often_it_is_asked(rig):
    before = rig.tries()

    async def scenario(r):
        to, codes = conversations(r)[0], set()
        for _ in range(4):
            try:
                await talk(r, lambda each: each.power(), password="wrong", to=to)
            except RackwrightError as error:
                codes.add(error.code)
        return codes

    assert rig.run(scenario) == {ErrorCode.CONTROLLER_PASSWORD}
    assert rig.tries() - before == 1


def test_verification_tries_a_wrong_password_once_with_all_its_libraries(rig):
    before = rig.tries()

    async def scenario(r):
        asked = record(r, driver=None, identity=None)
        await verify_controller(conversations(r)[0], asked, Secret("wrong"))

    with pytest.raises(RackwrightError) as error:
        rig.run(scenario)
    assert error.value.code is ErrorCode.CONTROLLER_PASSWORD
    assert rig.tries() - before == 1


def children():
    """Processes that this one started and that still run, by their command lines."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]
            if int(parent) == os.getpid() and state != "Z":
                found.append((stat.parent / "cmdline").read_bytes().replace(b"\0", b" "))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return [line for line in found if b"ipmitool" in line or b"bmc_ipmi_worker" in line]


def shown_by_children():
    """Command lines and environments of all processes that this one started."""
    shown = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(stat.read_text().rpartition(")")[2].split()[1]) == os.getpid():
                shown += [(stat.parent / name).read_bytes() for name in ("cmdline", "environ")]
        except (FileNotFoundError, ProcessLookupError):
            continue
    return shown


def test_no_library_logs_the_password_at_any_level(rig, caplog):
    caplog.set_level(logging.DEBUG)
    rig.run(lambda r: talk(r, lambda each: each.boot_from(BootDevice.DISK)))
    basic = base64.b64encode(f"{rig.address.user}:{PASSWORD}".encode()).decode()
    for secret in (PASSWORD, PASSWORD.encode().hex(), basic):
        assert secret not in caplog.text


def test_a_stopped_controller_is_given_up_at_the_deadline_and_spoken_to_again(rig):
    """And while it is waited for, no secret stands in a command line or an environment."""

    async def scenario(r):
        act = lambda each: each.power()  # noqa: E731
        first = await talk(r, act)
        r.pause()
        try:
            began = r.clock.monotonic()
            to = conversations(r, call_limit=1.5)[0]
            asking = asyncio.create_task(talk(r, act, to=to, identity=None))
            await r.clock.sleep(0.7)
            shown, stopped = shown_by_children(), await asking
            took, left = r.clock.monotonic() - began, children()
        finally:
            r.go_on()
        return first, stopped, took, left, shown, await talk(r, act)

    first, stopped, took, left, shown, again = rig.run(scenario)
    assert (first.power, stopped.power, again.power) == (Power.OFF, Power.UNKNOWN, Power.OFF)
    assert stopped.why.startswith("CONTROLLER_UNREACHABLE")
    assert took < 5.0
    assert not left
    assert not [line for line in shown if PASSWORD.encode() in line]


def test_power_that_does_not_follow_is_an_error_at_the_deadline(rig):
    if not rig.expected.deaf:
        rig.emulator.pause()
    try:
        rig.be_deaf(rig.expected.deaf)
        act = lambda each: each.reach_on(allowed=anybody, until=rig.clock.wall() + 1.2)  # noqa: E731
        assert failed(rig, act) is ErrorCode.POWER_NOT_REACHED
    finally:
        if not rig.expected.deaf:
            rig.emulator.go_on()
    assert rig.power() == "off"


# --- one kind at a time ------------------------------------------------------------------------
@pytest.mark.emulated
def test_pyghmi_itself_gives_up_where_nobody_is(make_rig):
    rig = make_rig("pyghmi")
    call = rig.run(lambda r: code_of(r.ask(lambda c: c.read_power(), port=r.dead_port)))
    assert call is ErrorCode.CONTROLLER_UNREACHABLE


@pytest.mark.emulated
@pytest.mark.parametrize("kind", ["pyghmi", "ipmitool"])
def test_a_controller_killed_in_the_middle_does_not_answer(kind, make_rig, tmp_path):
    rig = make_rig(kind)
    emulator = IpmiSim(tmp_path, UUID).start()
    rig.relay.target = emulator.port

    async def act(each):
        first = await each.power()
        emulator.kill()
        return first, await each.power(until=rig.clock.wall() + 1.5)

    first, second = rig.run(lambda r: talk(r, act))
    assert (first.power, second.power) == (Power.OFF, Power.UNKNOWN)


@pytest.mark.emulated
@pytest.mark.parametrize("kind", ["pyghmi", "ipmitool"])
def test_datagrams_of_no_protocol_are_no_answer(kind, make_rig):
    rig, garbage = make_rig(kind), GarbageDatagrams()
    rig.relay.target = garbage.port
    to = conversations(rig, call_limit=1.5)[0]
    try:
        reading = rig.run(lambda r: talk(r, lambda e: e.power(), to=to, identity=None))
    finally:
        garbage.close()
    assert reading.power is Power.UNKNOWN


@pytest.mark.emulated
def test_a_suite_that_the_controller_lacks_costs_no_password(make_rig):
    rig = make_rig("ipmitool")
    address = replace(rig.address, cipher_suite=17)
    act = lambda each: each.power()  # noqa: E731
    assert failed(rig, act, controller=address) is ErrorCode.CONTROLLER_REFUSED
    assert rig.tries() == 0


@pytest.mark.emulated
def test_verification_falls_back_to_ipmitool_and_its_suites(make_rig):
    """pyghmi's worker is taken away: this machine has no such program."""
    rig = make_rig("ipmitool")
    rig.workers.take = no_worker

    async def scenario(r):
        asked = record(
            r, driver=None, identity=None, controller=replace(r.address, cipher_suite=None)
        )
        return await verify_controller(conversations(r)[0], asked, Secret(PASSWORD))

    found = rig.run(scenario)
    assert (found.driver, found.address.cipher_suite) == (ControllerDriver.IPMITOOL, 3)


async def no_worker():
    raise TransientError(ErrorCode.CONTROLLER_UNREACHABLE, "no worker")


@pytest.mark.emulated
def test_another_certificate_gets_no_request_and_no_password(make_rig, tmp_path):
    rig = make_rig("sushy")
    impostor = HttpsService(tmp_path, http(b"{}"))
    rig.relay.target = impostor.port
    try:
        act = lambda each: each.power()  # noqa: E731
        assert failed(rig, act) is ErrorCode.CONTROLLER_CERTIFICATE
        assert impostor.received == b""
        # the same service is asked, where nothing is pinned yet: the probe works
        failed(rig, act, identity=None)
        assert impostor.received.startswith(b"GET /redfish/v1/")
    finally:
        impostor.close()


@pytest.mark.emulated
@pytest.mark.parametrize(
    ("answer", "then"),
    [
        (http(b"[]"), b""),
        (http(b'{"Id": 1, "Systems": 7}'), b""),
        (http(b"not json"), b""),
        (http(b'{"Id": "x", "Systems": {"@odata.id": "/redfish/v1/"}}'), b""),
        (b"HTTP/1.1 200 OK\r\n\r\n", bytes(65536)),
    ],
    ids=["list", "shapes", "text", "loop", "endless"],
)
def test_nonsense_over_tls_is_called_so(answer, then, make_rig, tmp_path):
    rig, service = make_rig("sushy"), HttpsService(tmp_path, answer, then)
    rig.relay.target = service.port
    try:
        code = failed(rig, lambda each: each.power(), identity=None)
        assert code in {ErrorCode.CONTROLLER_NONSENSE, ErrorCode.CONTROLLER_SYSTEMS}
    finally:
        service.close()


@pytest.mark.emulated
def test_a_service_without_tls_is_nonsense(make_rig):
    rig, service = make_rig("sushy"), HttpsService(None, b"220 mail.example ESMTP\r\n")
    rig.relay.target = service.port
    try:
        code = failed(rig, lambda each: each.power(), identity=None)
        assert code is ErrorCode.CONTROLLER_NONSENSE
    finally:
        service.close()


@pytest.mark.emulated
def test_an_answer_that_trickles_is_cut_at_the_deadline(make_rig, tmp_path):
    rig = make_rig("sushy")
    service = HttpsService(tmp_path, b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
    service.talk = trickling(service)
    rig.relay.target = service.port
    to = conversations(rig, call_limit=1.5)[0]
    try:
        began = time.monotonic()
        reading = rig.run(lambda r: talk(r, lambda e: e.power(), to=to, identity=None))
        assert reading.power is Power.UNKNOWN
        assert time.monotonic() - began < 5.0
        assert not to.is_taken(record(rig))
    finally:
        service.close()


def trickling(service):
    def talk_slowly(client):
        with service.context.wrap_socket(client, server_side=True) as secure:
            secure.recv(65536)
            secure.sendall(service.answer)
            while not service.closing.wait(0.3):
                secure.sendall(b" ")

    return talk_slowly


@pytest.mark.emulated
def test_of_several_systems_one_must_be_named(make_rig, tmp_path):
    rig = make_rig("sushy")
    emulator = SushyEmulator(tmp_path, [OTHER, UUID]).start()
    rig.relay.target = emulator.port
    act = lambda each: each.power()  # noqa: E731
    try:
        assert failed(rig, act, identity=None) is ErrorCode.CONTROLLER_SYSTEMS
        nobody = replace(rig.address, system="nobody")
        assert failed(rig, act, identity=None, controller=nobody) is ErrorCode.CONTROLLER_SYSTEMS
        named = replace(rig.address, system=UUID)
        identity = ControllerIdentity(system_uuid=UUID)
        reading = rig.run(lambda r: talk(r, act, identity=identity, controller=named))
        assert reading.power is Power.OFF
    finally:
        emulator.kill()


@pytest.mark.emulated
def test_why_sushy_tools_keeps_its_nonce_on_a_medium(sushy_tools):
    """Named expectations: no serial, no writable asset tag, no restore policy, no sessions."""
    path = f"/redfish/v1/Systems/{UUID}"
    system = sushy_tools.system(UUID)
    assert {"SerialNumber", "AssetTag", "PowerRestorePolicy"}.isdisjoint(system)
    assert sushy_tools.ask("PATCH", path, {"AssetTag": "nonce"})[0] == 400
    assert sushy_tools.ask("GET", "/redfish/v1/SessionService")[0] == 404
