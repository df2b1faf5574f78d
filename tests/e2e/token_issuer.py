"""Who issues the tokens that a server wants: JSON Web Tokens (RFC 7519), signed RS256."""

import base64
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat


def part(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def json_part(content: dict[str, Any]) -> str:
    return part(json.dumps(content).encode())


@dataclass(frozen=True)
class TokenIssuer:
    key: rsa.RSAPrivateKey
    public_key: Path
    """What a server verifies tokens with, PEM."""

    @classmethod
    def create(cls, folder: Path) -> "TokenIssuer":
        folder.mkdir(parents=True)
        key, public_key = rsa.generate_private_key(65537, 2048), folder / "tokens.pem"
        public_key.write_bytes(
            key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        )
        return cls(key, public_key)

    def issue(self, valid_for: int) -> str:
        """A token that ends in `valid_for` seconds: where that is negative, it has ended."""
        claims = {"sub": "ci", "exp": int(time.time()) + valid_for}
        signed = f"{json_part({'alg': 'RS256', 'typ': 'JWT'})}.{json_part(claims)}"
        signature = self.key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())
        return f"{signed}.{part(signature)}"
