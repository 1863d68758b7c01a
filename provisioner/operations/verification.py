"""Which library a controller answers, who it is, and that it answers at all, three times."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace

from provisioner.errors import ErrorCode, OperatorError, RackwrightError, TransientError
from provisioner.operations.conversation import Conversation, Conversations
from provisioner.secret import Secret
from provisioner.servers.identity import nameless
from provisioner.servers.model import (
    ControllerAddress,
    ControllerDriver,
    ControllerIdentity,
    ControllerProtocol,
    Power,
    PowerReading,
    ServerRecord,
)

log = logging.getLogger(__name__)

READINGS = 3
"""Good answers in a row: some controllers flap after an update of their firmware."""
SUITES = (17, 3)
"""Tried in this order where the manifest names none. Suite 0 (no authentication) never."""
FINAL = frozenset(
    {
        ErrorCode.CONTROLLER_PASSWORD,
        ErrorCode.CONTROLLER_CERTIFICATE,
        ErrorCode.CONTROLLER_SYSTEMS,
        ErrorCode.OTHER_MACHINE,
    }
)
"""Another library would be told the same; a password is tried once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What verification found; the certificate's digest in the identity is pinned from now on.

    Attributes:
        address: Completed: the cipher suite, or the id of the system.
        power: The last of three readings.
        restore_policy: "stay-off", or "refused: <why>".
    """

    driver: ControllerDriver
    identity: ControllerIdentity
    address: ControllerAddress
    power: PowerReading
    restore_policy: str


async def verify_controller(
    conversations: Conversations,
    server: ServerRecord,
    password: Secret,
    *,
    source: str = "verification",
) -> Verified:
    """Ask by each library that speaks the protocol until one gets all answers.

    Power is read, never switched. A remembered identity must be the one that answers.

    Raises:
        RackwrightError: What the first library met, with what the others met as its detail.
    """
    met: list[tuple[str, RackwrightError]] = []
    for driver, address in candidates(server.controller):
        asked = replace(server, driver=driver, controller=address)
        try:
            async with conversations.to(asked, password, source=source) as talk:
                return await _verified(talk, driver)
        except (OperatorError, TransientError) as error:
            if error.code in FINAL:
                raise
            log.info("%s by %s: %s", server.name, driver, error, extra={"server": server.name})
            met.append((f"{driver} {address.cipher_suite or ''}".strip(), error))
    first = met[0][1]
    detail = "\n".join(f"{name}: {error} {error.detail}" for name, error in met)
    raise type(first)(first.code, first.brief, detail) from first


def candidates(address: ControllerAddress) -> Iterator[tuple[ControllerDriver, ControllerAddress]]:
    """Libraries and addresses to try; pyghmi agrees on a suite by itself."""
    if address.protocol is ControllerProtocol.REDFISH:
        yield ControllerDriver.SUSHY, address
        return
    yield ControllerDriver.PYGHMI, address
    for suite in SUITES if address.cipher_suite is None else (address.cipher_suite,):
        yield ControllerDriver.IPMITOOL, replace(address, cipher_suite=suite)


async def _verified(talk: Conversation, driver: ControllerDriver) -> Verified:
    identity = await talk.identity()
    if nameless(identity):
        raise OperatorError(
            ErrorCode.CONTROLLER_NONSENSE,
            "the controller says neither uuid nor serial: its machine cannot be told from another",
        )
    readings = [await talk.power() for _ in range(READINGS)]
    for reading in readings:
        if reading.power is Power.UNKNOWN:
            raise TransientError(
                ErrorCode.CONTROLLER_UNREACHABLE, f"the power cannot be read: {reading.why}"
            )
    return Verified(
        driver=driver,
        identity=identity,
        address=talk.found_address(),
        power=readings[-1],
        restore_policy=await talk.stay_off(),
    )
