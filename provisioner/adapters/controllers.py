"""ports.Controllers: which library makes a controller, as the composition root has wired it."""

from collections.abc import Callable, Mapping

from provisioner.errors import ErrorCode, OperatorError
from provisioner.ports.controllers import Controller
from provisioner.secret import Secret
from provisioner.servers.model import ControllerAddress, ControllerDriver

Maker = Callable[[ControllerAddress, Secret, str | None], Controller]
"""Address, password and pinned certificate in, a controller out; nothing is sent yet."""


class ControllersByDriver:
    """Makes each controller by the library that verification recorded for it.

    Args:
        makers: One for each driver that this installation has.
    """

    def __init__(self, makers: Mapping[ControllerDriver, Maker]) -> None:
        self._makers = dict(makers)

    def open(
        self,
        address: ControllerAddress,
        password: Secret,
        driver: ControllerDriver,
        *,
        certificate_sha256: str | None,
    ) -> Controller:
        """A controller that has not been asked yet.

        Raises:
            OperatorError: CONTROLLER_REFUSED: this installation has no such driver.
        """
        maker = self._makers.get(driver)
        if maker is None:
            raise OperatorError(
                ErrorCode.CONTROLLER_REFUSED, f"this installation does not speak by {driver}"
            )
        return maker(address, password, certificate_sha256)
