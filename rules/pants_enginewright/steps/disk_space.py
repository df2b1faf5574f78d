"""Whether there is room on a disk, and an error that says on which there is none."""

from __future__ import annotations

import os
from typing import Mapping

from pants.option.global_options import GlobalOptions

NO_SPACE = "No space left on device"
"""In the text of every error of Pants' that comes from a full disk."""


class DiskFullError(Exception):
    """There is no room for something; names each folder, and what is free there."""

    def __init__(self, what: str, folders: Mapping[str, str]) -> None:
        width = max(len(name) for name in folders)
        super().__init__(
            "\n".join(
                [
                    f"{what}: a disk is full.",
                    *(
                        f"  {name:<{width}}  {path}, {free_bytes(path)} bytes free"
                        for name, path in folders.items()
                    ),
                    "Nothing of it was kept. Free space there, and run again.",
                ]
            )
        )


def free_bytes(path: str) -> int:
    """Bytes free for us in a folder, which need not be there yet."""
    path = os.path.abspath(path)
    while not os.path.isdir(path):
        path = os.path.dirname(path)
    found = os.statvfs(path)
    return found.f_bavail * found.f_frsize


def folders_of_pants(options: GlobalOptions) -> Mapping[str, str]:
    """Where Pants writes while a step runs."""
    return {
        "store": options.local_store_dir,
        "sandboxes": options.local_execution_root_dir,
        "caches": str(options.named_caches_dir),
    }


def raise_if_too_large(what: str, sizes: Mapping[str, int], folder: str) -> None:
    """Raise unless the files (path to size in bytes) fit into `folder`, in place of old ones."""
    replaced = sum(_size(os.path.join(folder, path)) for path in sizes)
    if sum(sizes.values()) > free_bytes(folder) + replaced:
        raise DiskFullError(f"{what} needs {sum(sizes.values())} bytes", {"packages": folder})


def _size(path: str) -> int:
    return os.path.getsize(path) if os.path.isfile(path) else 0
