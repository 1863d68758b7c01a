"""CloudStack's API for whoever has the turn: before each change it is asked whether still."""

from cloudstack_ext.client import READS, longest_of
from cloudstack_ext.parameters import Answer, Parameters
from cloudstack_ext.registration.memory import Memory
from cloudstack_ext.registration.reading import Api


class HeldApi:
    """Implements Api.

    A change is sent only after the service has said that nobody else may make one until this
    one must have been answered or given up: also where we are killed in between.
    """

    def __init__(self, api: Api, memory: Memory) -> None:
        self._api, self._memory = api, memory

    @property
    def key(self) -> str:
        """Of the user that asks; no secret."""
        return self._api.key

    async def call(self, command: str, parameters: Parameters | None = None) -> Answer:
        """The answer of one command.

        Raises:
            RackwrightError: As the client; REGISTRATION_BUSY: somebody else's turn; not sent.
        """
        if not command.startswith(READS):
            await self._memory.hold(longest_of(command))
        return await self._api.call(command, parameters)

    async def every(
        self, command: str, of: str, parameters: Parameters | None = None
    ) -> tuple[Answer, ...]:
        """All rows of a list command."""
        return await self._api.every(command, of, parameters)
