"""What a report of a device says beside its numbers: which device, and which bytes."""

from __future__ import annotations

import platform
from dataclasses import asdict
from typing import Any

from enginewright.device.gpu import DeviceFacts, clocks_now_mhz
from enginewright.document import encode
from enginewright.engines.package import EnginePackage


def evidence(device: DeviceFacts, package: EnginePackage) -> dict[str, Any]:
    """Every file of the package has been compared with the digest that is told here."""
    manifest = package.manifest
    return {
        "device": {**asdict(device), "clocks_after_mhz": dict(clocks_now_mhz())},
        "host": {"system": platform.platform(), "python": platform.python_version()},
        "engine": {
            "name": manifest.name,
            "product": encode(manifest.product),
            "built": list(manifest.built),
            "files": {name: encode(digest) for name, digest in sorted(manifest.files.items())},
        },
    }
