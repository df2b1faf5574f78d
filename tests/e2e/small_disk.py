"""A disk of a few megabytes: a tmpfs that only this process and those that it starts can see."""

import ctypes
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

NEW_MOUNTS, NEW_USERS = 0x00020000, 0x10000000  # CLONE_NEWNS and CLONE_NEWUSER, linux/sched.h
BALLAST = "ballast"


def leave_the_mounts_of_the_host() -> None:
    """What this process mounts from here on ends with it.

    Who is not root becomes it, in a namespace of its own. Raises OSError where the host allows
    neither.
    """
    user, group = os.geteuid(), os.getegid()
    library = ctypes.CDLL(None, use_errno=True)
    if library.unshare(NEW_MOUNTS | (NEW_USERS if user else 0)) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    if user:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {user} 1")
        Path("/proc/self/gid_map").write_text(f"0 {group} 1")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)


@dataclass(frozen=True)
class SmallDisk:
    folder: Path

    @classmethod
    def mount(cls, folder: Path, megabytes: int) -> "SmallDisk":
        folder.mkdir(parents=True)
        options = f"size={megabytes}m"
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "small", str(folder)], check=True)
        return cls(folder)

    def fill(self, leave: int) -> None:
        """Leave room for `leave` bytes."""
        found = os.statvfs(self.folder)
        with (self.folder / BALLAST).open("wb") as stream:
            os.posix_fallocate(stream.fileno(), 0, found.f_bavail * found.f_frsize - leave)

    def clear(self) -> None:
        """Make room again."""
        (self.folder / BALLAST).unlink(missing_ok=True)

    def unmount(self) -> None:
        subprocess.run(["umount", "--lazy", str(self.folder)], check=True)
