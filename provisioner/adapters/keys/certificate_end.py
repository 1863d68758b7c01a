"""Until when a certificate is good."""

from cryptography import x509

from provisioner.errors import ErrorCode, InputError
from provisioner.units import WallSeconds


def certificate_ends(pem: bytes) -> WallSeconds:
    """Its last second; of several in one text that of the first, which is its holder's own.

    Raises:
        InputError: FILE_UNREADABLE: it is no certificate in PEM.
    """
    try:
        found = x509.load_pem_x509_certificate(pem)
    except ValueError as error:
        raise InputError(ErrorCode.FILE_UNREADABLE, "it is no certificate in PEM") from error
    return WallSeconds(found.not_valid_after_utc.timestamp())
