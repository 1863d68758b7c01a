"""What whoever has an instance may have done to its machine, and goes on for long."""

from typing import Protocol

from provisioner.ports.machines import Certify
from provisioner.ports.tenant_desk import Walk
from provisioner.servers.allocation import InstanceRequest
from provisioner.servers.model import Power
from provisioner.units import MonotonicSeconds


class InstanceChanges(Protocol):
    """Each begins, or attaches to the same that goes on, and answers how far it is by `until`.

    A failure ends no allocation: the machine is switched off and cut off, and may be asked for
    again. Raises InputError, ConflictError, OperatorError or TransientError with a brief that a
    tenant may read; INSTANCE_BUSY while something else goes on, STATE_CONFLICT during a rescue.
    """

    async def reinstall(
        self, request: InstanceRequest, *, ends: Power, certify: Certify, until: MonotonicSeconds
    ) -> Walk:
        """Write the root disk anew, and nothing else.

        Args:
            request: With the keys of the payload; the rest comes from what is remembered.
            ends: OFF installs and leaves it off.
            certify: Told what was bought; answers with user data and, where another image is
                asked for, with its key in the pool's map.
            until: When it must be answered.
        """
        ...

    async def reseed(
        self, request: InstanceRequest, *, ends: Power, certify: Certify, until: MonotonicSeconds
    ) -> Walk:
        """Hand out user data, keys and addresses anew, to the system that is there.

        Raises:
            ConflictError: REINSTALL_NEEDED: there is no whole one.
        """
        ...

    async def rescue(self, request: InstanceRequest, *, until: MonotonicSeconds) -> Walk:
        """Start a rescue system in its networks; one that runs is answered as it is.

        Raises:
            InputError: KEYS_MISSING.
        """
        ...
