"""Who asks CloudStack's API."""

from dataclasses import dataclass

from provisioner.secret import Secret


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """Of one user of CloudStack.

    Attributes:
        key: Names the user; no secret, it goes with every request.
    """

    key: str
    secret: Secret
