"""Servers, a journal and machines in memory for tests of conversations."""

import asyncio
from dataclasses import replace

from provisioner.operations.conversation import Conversations
from provisioner.secret import Secret
from provisioner.servers.model import (
    ControllerAddress,
    ControllerDriver,
    ControllerIdentity,
    ControllerProtocol,
    FirmwareMode,
    MacRole,
    Nic,
    Power,
    PowerReading,
    RootDiskRule,
    ServerRecord,
    State,
)
from provisioner.testing.clock import FakeClock
from provisioner.testing.controller import FakeControllers, FakeMachine

PASSWORD = Secret("s3cret")
IDENTITY = ControllerIdentity(system_uuid="01020304-0506-0708-090a-0b0c0d0e0f10")


def server(name="n1", host="10.0.0.1", **fields):
    values = {
        "name": name,
        "pool": "a",
        "state": State.AVAILABLE,
        "epoch": 1,
        "dirty": False,
        "power": PowerReading(power=Power.UNKNOWN, at=0.0, source=""),
        "firmware": FirmwareMode.UEFI,
        "controller": ControllerAddress(
            protocol=ControllerProtocol.IPMI, host=host, port=623, user="admin"
        ),
        "nics": (Nic(mac="52:54:00:00:00:01", roles=frozenset(MacRole), port="tap-n1"),),
        "root_disk": RootDiskRule(),
        "driver": ControllerDriver.PYGHMI,
        "identity": IDENTITY,
    }
    return ServerRecord(**{**values, **fields})


async def anybody():
    """A guard that lets everybody switch on."""


class Journal:
    def __init__(self):
        self.lines = []

    def call(self, server, door, text, outcome):
        self.lines.append((server, door, text, outcome))

    @property
    def texts(self):
        return [text for _, _, text, _ in self.lines]


class Rig:
    """One machine behind 10.0.0.1, and all that is needed to speak with it."""

    def __init__(self, **behaviour):
        self.clock = FakeClock()
        self.controllers = FakeControllers(self.clock)
        self.journal = Journal()
        self.machine = self.add("10.0.0.1", **behaviour)
        self.conversations = Conversations(
            self.controllers, self.clock, self.journal, jitter=lambda: 0.5
        )

    def add(self, host, identity=IDENTITY, **behaviour):
        machine = FakeMachine(clock=self.clock, identity=identity, **behaviour)
        return self.controllers.add(host, machine)

    def talk(self, act, record=None, password=PASSWORD):
        """Run one act of a conversation to its end."""

        async def whole():
            to = self.conversations.to(record or server(), password, source="test")
            async with to as talk:
                return await act(talk)

        return asyncio.run(whole())

    def within(self, seconds):
        return self.clock.monotonic() + seconds


def other_machine():
    return replace(IDENTITY, system_uuid="ffffffff-0000-0000-0000-000000000001")
