"""Whether a request was signed by the owner of a key, as CloudStack decides it; pure.

Source: a running management server 4.22, tried with right and wrong signatures.
"""

import base64
import hashlib
import hmac
from collections.abc import Mapping
from datetime import UTC, datetime
from urllib.parse import quote

_SIGNATURE = "signature"
_UNRESERVED = "*"
"""What Java's URLEncoder leaves alone beside letters, digits, "-", "_" and "."."""
_EXPIRES = ("%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%dT%H:%M:%SZ")
EXPIRING_VERSION = "3"
"""Of a signature that carries `expires`."""


def sign(parameters: Mapping[str, str], secret: str) -> str:
    """The signature of a request, base64.

    Names are sorted as ASCII, so `details[0].External:x` stands before `details[0].a`: a client
    that sorts lower-case names gets another one, and is refused.
    """
    pairs = sorted((name, text) for name, text in parameters.items() if name != _SIGNATURE)
    text = "&".join(f"{name}={quote(value, safe=_UNRESERVED)}" for name, value in pairs).lower()
    return base64.b64encode(hmac.digest(secret.encode(), text.encode(), hashlib.sha1)).decode()


def is_signed(parameters: Mapping[str, str], secret: str, now: float) -> bool:
    """Whether the signature is this secret's and has not expired at `now`, seconds since 1970."""
    given = parameters.get(_SIGNATURE, "").replace(" ", "+")  # a "+" that was not encoded
    if not hmac.compare_digest(given.encode(), sign(parameters, secret).encode()):
        return False
    if parameters.get("signatureVersion") != EXPIRING_VERSION:
        return True
    ends = _moment(parameters.get("expires", ""))
    return ends is not None and now < ends


def _moment(text: str) -> float | None:
    for form in _EXPIRES:
        try:
            read = datetime.strptime(text, form)  # noqa: DTZ007  # the second form has no zone
        except ValueError:
            continue
        return (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()
    return None
