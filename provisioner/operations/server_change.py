"""What an operator may correct of an enrolled server, and when. Pure.

Never who the machine is: after a change its controller, and then its agent, must say what is
remembered of it (invariant 13), or it ends where every stranger ends.
"""

from dataclasses import dataclass, replace

from provisioner.errors import ConflictError, ErrorCode, InputError
from provisioner.operations.inspect import INSPECT, VERIFY
from provisioner.operations.steps import StepList
from provisioner.secret import Secret
from provisioner.servers.model import Nic, ServerRecord, State


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """New values; None leaves the old one.

    Attributes:
        certificate_sha256: Pinned from now on, in place of the one that was seen at enrolment.
        nics: All cards, in the order of tenant ports.
    """

    address: str | None = None
    port: int | None = None
    user: str | None = None
    password: Secret | None = None
    certificate_sha256: str | None = None
    nics: tuple[Nic, ...] | None = None

    def words(self) -> str:
        """What is changed, for the audit; no value of it."""
        given = (name for name in self.__slots__ if getattr(self, name) is not None)
        return ", ".join(given)

    def replaced(self, record: ServerRecord) -> str:
        """Where its controller was until now, should the new place be a slip; "" where it stays."""
        old = record.controller
        if (self.address or old.host, self.port or old.port) == (old.host, old.port):
            return ""
        return f" (its controller was {old.host}, port {old.port})"

    def of(self, record: ServerRecord) -> ServerRecord:
        """The record as it would be.

        Raises:
            InputError: USAGE: nothing is changed. STATE_CONFLICT: no certificate is pinned yet.
        """
        old, identity = record.controller, record.identity
        if self.certificate_sha256 is not None:
            if identity is None or identity.certificate_sha256 is None:
                text = f"{record.name} has no pinned certificate: verification takes what it sees"
                raise ConflictError(ErrorCode.STATE_CONFLICT, text)
            identity = replace(identity, certificate_sha256=self.certificate_sha256)
        changed = replace(
            record,
            controller=replace(
                old,
                host=self.address or old.host,
                port=self.port or old.port,
                user=old.user if self.user is None else self.user,
            ),
            identity=identity,
            nics=self.nics or record.nics,
        )
        if changed == record and self.password is None:
            raise InputError(ErrorCode.USAGE, f"nothing of {record.name} would change")
        return changed


def proof_of(record: ServerRecord, *, busy: bool, allocated: bool) -> StepList:
    """What must be walked after a change, so that nothing rests on the operator's word.

    Args:
        record: As it is.
        busy: An operation is open on it.
        allocated: A tenant has it.

    Raises:
        ConflictError: STATE_CONFLICT: it may not be changed now.
    """
    if busy:
        raise ConflictError(ErrorCode.STATE_CONFLICT, f"an operation runs on {record.name}")
    if allocated:
        raise ConflictError(ErrorCode.STATE_CONFLICT, f"a tenant has {record.name}")
    if record.state is State.ENROLLED:
        return VERIFY
    if record.state is State.AVAILABLE and record.maintenance is None:
        text = f"{record.name} may be handed out at any moment: put it in maintenance first"
        raise ConflictError(ErrorCode.STATE_CONFLICT, text)
    if record.state not in {State.AVAILABLE, State.QUARANTINED}:
        text = f"cannot change a server that is {record.state}"
        raise ConflictError(ErrorCode.STATE_CONFLICT, text)
    # one whose machine nobody has named yet is verified at its inspection by `provide`
    return INSPECT
