"""The programs of `launch/`, as a digest for a sandbox."""

from __future__ import annotations

import hashlib
import pkgutil
from typing import Dict

from pants.engine.fs import CreateDigest, FileContent


def launch_files(*names: str) -> CreateDigest:
    """Files of the folder `launch/` beside this one, at the sandbox's top."""
    return CreateDigest(FileContent(name, _read(name)) for name in names)


def launch_hashes(*names: str) -> Dict[str, str]:
    """sha256 of each."""
    return {name: hashlib.sha256(_read(name)).hexdigest() for name in names}


def _read(name: str) -> bytes:
    content = pkgutil.get_data("pants_enginewright.launch", name)
    assert content is not None, name
    return content
