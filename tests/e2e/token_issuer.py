"""Who issues the tokens that a server wants: JSON Web Tokens (RFC 7519), signed RS256."""

import base64
import json
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any


def part(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def json_part(content: dict[str, Any]) -> str:
    return part(json.dumps(content).encode())


@dataclass(frozen=True)
class TokenIssuer:
    key: Path
    public_key: Path
    """What a server verifies tokens with, PEM."""

    @classmethod
    def create(cls, folder: Path) -> "TokenIssuer":
        folder.mkdir(parents=True)
        key, public_key = folder / "tokens.key", folder / "tokens.pem"
        make = ["openssl", "genpkey", "-algorithm", "RSA", "-out", str(key)]
        publish = ["openssl", "pkey", "-in", str(key), "-pubout", "-out", str(public_key)]
        for command in (make, publish):
            subprocess.run(command, check=True, capture_output=True, timeout=60)
        return cls(key, public_key)

    def issue(self, valid_for: int) -> str:
        """A token that ends in `valid_for` seconds: where that is negative, it has ended."""
        claims = {"sub": "ci", "exp": int(time.time()) + valid_for}
        signed = f"{json_part({'alg': 'RS256', 'typ': 'JWT'})}.{json_part(claims)}"
        signature = subprocess.run(
            ["openssl", "dgst", "-sha256", "-sign", str(self.key)],
            input=signed.encode(),
            check=True,
            capture_output=True,
            timeout=60,
        )
        return f"{signed}.{part(signature.stdout)}"
