"""A certificate authority of the tests' own, by the command `openssl`."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

CURVE = ("-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256")


def openssl(*arguments: str | Path) -> None:
    done = subprocess.run(
        ["openssl", *map(str, arguments)], capture_output=True, text=True, timeout=60, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"openssl {arguments[0]}: {done.stderr}")


@dataclass(frozen=True)
class Certificate:
    host: str
    key: Path
    chain: Path
    """The host's certificate, PEM."""


@dataclass(frozen=True)
class CertificateAuthority:
    key: Path
    certificate: Path
    """What who trusts it gets, PEM."""

    @classmethod
    def create(cls, folder: Path, name: str) -> "CertificateAuthority":
        folder.mkdir(parents=True)
        key, certificate = folder / "authority.key", folder / "authority.pem"
        openssl("genpkey", *CURVE, "-out", key)
        openssl(
            *("req", "-x509", "-new", "-key", key, "-subj", f"/CN={name}", "-days", "2"),
            *("-addext", "keyUsage=critical,keyCertSign", "-out", certificate),
        )
        return cls(key, certificate)

    def issue(self, host: str) -> Certificate:
        """A certificate for a server of that name."""
        folder = self.certificate.parent
        key, request, chain = (folder / f"{host}.{suffix}" for suffix in ("key", "csr", "pem"))
        extensions = folder / f"{host}.ext"
        extensions.write_text(
            f"subjectAltName=DNS:{host}\nbasicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth\n"
        )
        openssl("genpkey", *CURVE, "-out", key)
        openssl("req", "-new", "-key", key, "-subj", f"/CN={host}", "-out", request)
        openssl(
            *("x509", "-req", "-in", request, "-days", "1", "-extfile", extensions),
            *("-CA", self.certificate, "-CAkey", self.key, "-CAcreateserial", "-out", chain),
        )
        return Certificate(host, key, chain)
