"""How CloudStack says no: number, second number and words of each kind, as they were seen."""

from http import HTTPStatus

UNAUTHORIZED = int(HTTPStatus.UNAUTHORIZED)
PARAMETER = 431
UNAVAILABLE = 432
INTERNAL = 530
NOT_PERMITTED = 531
NO_CAPACITY = 533
OVER_LIMIT = 535

GENERAL = 9999
_INVALID_VALUE = 4350
_RUNTIME = 4250
_PERMISSION = 4365
"""`cserrorcode`: which Java exception it was."""

CREDENTIALS = "unable to verify user credentials and/or request signature"
INTERNAL_TEXT = "Internal error executing command, please contact your system administrator"
NO_PERMISSION = "Caller does not have permission to operate with provided resource."


class RefusalError(Exception):
    """A call is answered with an error.

    Args:
        code: Of the answer, and its HTTP status.
        text: What the caller reads.
        kind: `cserrorcode`; None: the answer has none.
        named: Whether the body is wrapped in the command's name; else in `errorresponse`.
    """

    def __init__(
        self, code: int, text: str, *, kind: int | None = None, named: bool = True
    ) -> None:
        super().__init__(text)
        self.code = code
        self.text = text
        self.kind = kind
        self.named = named

    def body(self, command: str) -> dict[str, object]:
        """The whole answer."""
        kind = {} if self.kind is None else {"cserrorcode": self.kind}
        wrapper = f"{command.lower()}response" if self.named else "errorresponse"
        return {wrapper: {"uuidList": [], "errorcode": self.code, **kind, "errortext": self.text}}

    def job_result(self) -> dict[str, object]:
        """The same as the result of a job."""
        return {"errorcode": self.code, "errortext": self.text}


def unauthorized(*, named: bool) -> RefusalError:
    """Wrong key, wrong signature, expired, or a command that no server knows: all the same."""
    return RefusalError(UNAUTHORIZED, CREDENTIALS, named=named)


def unavailable(command: str, reference: str) -> RefusalError:
    """A command that this key may not call, or that this installation has not."""
    text = (
        f"The API [{command}] does not exist or is not available for the account"
        f" for user id [{reference}]."
    )
    return RefusalError(UNAVAILABLE, text, kind=GENERAL, named=False)


def missing(command: str, name: str) -> RefusalError:
    """A required parameter is not there."""
    return _unable(command, f"missing parameter {name}")


def bad_value(command: str, name: str, value: str) -> RefusalError:
    """A number that is none."""
    return _unable(command, f"invalid value {value} for parameter {name}")


def too_long(command: str, name: str, most: int) -> RefusalError:
    """More characters than the column has."""
    return _unable(
        command, f"invalid value. Value greater than max allowed length {most} for param: {name}"
    )


def unknown_id(command: str, name: str, value: str) -> RefusalError:
    """An id of nothing; the words are CloudStack's, also where the id is well formed."""
    return _unable(
        command,
        f"invalid value. Invalid parameter {name} value={value} due to incorrect long value"
        " format, or entity does not exist or due to incorrect parameter annotation for the field"
        " in api cmd class.",
    )


def invalid(text: str) -> RefusalError:
    """A value that the command itself refuses."""
    return RefusalError(PARAMETER, text, kind=_INVALID_VALUE)


def internal(text: str = INTERNAL_TEXT) -> RefusalError:
    """An exception on the server: a state that forbids it, a double name."""
    return RefusalError(INTERNAL, text, kind=_RUNTIME)


def server_error(text: str) -> RefusalError:
    """The same from the command's own code, which gives another second number."""
    return RefusalError(INTERNAL, text, kind=GENERAL)


def not_permitted(text: str = NO_PERMISSION) -> RefusalError:
    """Somebody else's object."""
    return RefusalError(NOT_PERMITTED, text, kind=_PERMISSION)


def over_limit(text: str) -> RefusalError:
    """A limit of the account."""
    return RefusalError(OVER_LIMIT, text, kind=GENERAL)


def _unable(command: str, why: str) -> RefusalError:
    text = f"Unable to execute API command {command.lower()} due to {why}"
    return RefusalError(PARAMETER, text, kind=GENERAL)
