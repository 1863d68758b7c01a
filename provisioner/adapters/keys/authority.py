"""The site's certificate authority: one for all that speaks TLS on the provisioning network."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import Self

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from provisioner.errors import ErrorCode, OperatorError

# machines that come out of a box may believe any year; the ramdisk trusts this CA alone, and
# the CA lives as long as the installation, so the dates carry no meaning and stand in no way
NOT_BEFORE = datetime(2000, 1, 1, tzinfo=UTC)
NOT_AFTER = datetime(2099, 12, 31, tzinfo=UTC)
CLOCKS_DIFFER = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Issued:
    """A certificate with its key, both PEM."""

    certificate: bytes
    key: bytes


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class IssuedClient:
    """A caller's certificate with its key, and the number that tells it from all others."""

    pair: Issued
    serial: int


class Authority:
    """Issues certificates of one site (ECDSA P-256)."""

    def __init__(self, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
        """Take over; use `new` or `load`."""
        self._certificate = certificate
        self._key = key

    @classmethod
    def new(cls, site: str) -> Self:
        """A new authority; issues end certificates only."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = _name(f"Rackwright site {site}")
        builder = _builder(name, name, key.public_key()).add_extension(
            x509.BasicConstraints(ca=True, path_length=0), critical=True
        )
        builder = builder.add_extension(_usage(certificates=True), critical=True)
        return cls(builder.sign(key, hashes.SHA256()), key)

    @classmethod
    def load(cls, certificate: bytes, key: bytes) -> Self:
        """From PEM.

        Raises:
            OperatorError: FILE_UNREADABLE: not a certificate and its own P-256 key.
        """
        try:
            loaded = load_pem_private_key(key, password=None)
            found = x509.load_pem_x509_certificate(certificate)
        except (ValueError, TypeError) as error:
            raise OperatorError(ErrorCode.FILE_UNREADABLE, "the CA's files are no PEM") from error
        if not isinstance(loaded, ec.EllipticCurvePrivateKey) or (
            found.public_key() != loaded.public_key()
        ):
            raise OperatorError(
                ErrorCode.FILE_UNREADABLE, "the CA's key is not that of its certificate"
            )
        return cls(found, loaded)

    def own(self) -> Issued:
        """The authority's own certificate and key."""
        return _pem(self._certificate, self._key)

    def issue_server(self, addresses: Sequence[str]) -> Issued:
        """A server certificate for these addresses and names; the first names it.

        Raises:
            ValueError: A text that is neither an address nor a host name.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        builder = self._end(key, _name(addresses[0]), ExtendedKeyUsageOID.SERVER_AUTH)
        names = x509.SubjectAlternativeName([_general_name(each) for each in addresses])
        builder = builder.add_extension(names, critical=False)
        return _pem(builder.sign(self._key, hashes.SHA256()), key)

    def has_issued_server(self, pem: bytes, addresses: Sequence[str]) -> bool:
        """Whether this is a certificate with its key, as `issue_server` makes them for these."""
        try:
            found = x509.load_pem_x509_certificate(pem)
            key = load_pem_private_key(pem, password=None)
            found.verify_directly_issued_by(self._certificate)
            names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        except (ValueError, TypeError, InvalidSignature, x509.ExtensionNotFound):
            return False
        wanted = [_general_name(each) for each in addresses]
        return list(names) == wanted and found.public_key() == key.public_key()

    def issue_client(self, name: str, *, site: str, unit: str, ends: datetime) -> IssuedClient:
        """A certificate that a caller shows; good for no server, since it names no host.

        Args:
            name: Common name.
            site: Organization.
            unit: Organizational unit: what kind of caller it is.
            ends: Its last moment. It counts from now on, less an hour for clocks that differ.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name(
            [
                x509.NameAttribute(NameOID.ORGANIZATION_NAME, site),
                x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, unit),
                x509.NameAttribute(NameOID.COMMON_NAME, name),
            ]
        )
        begins = datetime.now(UTC) - CLOCKS_DIFFER
        builder = self._end(key, subject, ExtendedKeyUsageOID.CLIENT_AUTH, (begins, ends))
        made = builder.sign(self._key, hashes.SHA256())
        return IssuedClient(pair=_pem(made, key), serial=made.serial_number)

    def _end(
        self,
        key: ec.EllipticCurvePrivateKey,
        subject: x509.Name,
        use: x509.ObjectIdentifier,
        dates: tuple[datetime, datetime] = (NOT_BEFORE, NOT_AFTER),
    ) -> x509.CertificateBuilder:
        """Of an end of a connection, with one use alone."""
        builder = _builder(subject, self._certificate.subject, key.public_key(), dates)
        none = x509.BasicConstraints(ca=False, path_length=None)
        builder = builder.add_extension(none, critical=True)
        builder = builder.add_extension(_usage(certificates=False), critical=True)
        builder = builder.add_extension(x509.ExtendedKeyUsage([use]), critical=False)
        authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        return builder.add_extension(authority, critical=False)


def certificate_sha256(pem: bytes) -> str:
    """Of the DER form, hex: what is pinned.

    Raises:
        ValueError: It is no certificate.
    """
    certificate = x509.load_pem_x509_certificate(pem)
    return hashlib.sha256(certificate.public_bytes(Encoding.DER)).hexdigest()


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    public: ec.EllipticCurvePublicKey,
    dates: tuple[datetime, datetime] = (NOT_BEFORE, NOT_AFTER),
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(dates[0])
        .not_valid_after(dates[1])
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
    )


def _usage(*, certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=certificates,
        crl_sign=certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _general_name(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(text))
    except ValueError:
        return x509.DNSName(text)


def _pem(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> Issued:
    return Issued(
        certificate=certificate.public_bytes(Encoding.PEM),
        key=key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
    )
