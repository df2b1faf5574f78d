"""A certificate authority of the tests' own."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

DAY = timedelta(days=1)
KEY_USAGES = (
    "digital_signature",
    "content_commitment",
    "key_encipherment",
    "data_encipherment",
    "key_agreement",
    "key_cert_sign",
    "crl_sign",
    "encipher_only",
    "decipher_only",
)


def pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def certificate_of(
    subject: str, issuer: x509.Name, key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    """Holds from an hour ago on, for a day."""
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(named(subject))
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + DAY)
    )


@dataclass(frozen=True)
class Certificate:
    host: str
    key: Path
    chain: Path
    """The host's certificate, PEM."""


@dataclass(frozen=True)
class CertificateAuthority:
    folder: Path
    key: ec.EllipticCurvePrivateKey
    name: x509.Name

    @property
    def certificate(self) -> Path:
        """What who trusts it gets, PEM."""
        return self.folder / "authority.pem"

    @classmethod
    def create(cls, folder: Path, name: str) -> "CertificateAuthority":
        folder.mkdir(parents=True)
        key = ec.generate_private_key(ec.SECP256R1())
        may = {usage: usage == "key_cert_sign" for usage in KEY_USAGES}
        signed = (
            certificate_of(name, named(name), key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(x509.KeyUsage(**may), critical=True)
            .sign(key, hashes.SHA256())
        )
        authority = cls(folder, key, named(name))
        authority.certificate.write_bytes(signed.public_bytes(Encoding.PEM))
        return authority

    def issue(self, host: str) -> Certificate:
        """A certificate for a server of that name."""
        key = ec.generate_private_key(ec.SECP256R1())
        signed = (
            certificate_of(host, self.name, key.public_key())
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=False)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .sign(self.key, hashes.SHA256())
        )
        issued = Certificate(host, self.folder / f"{host}.key", self.folder / f"{host}.pem")
        issued.key.write_bytes(pem(key))
        issued.chain.write_bytes(signed.public_bytes(Encoding.PEM))
        return issued
