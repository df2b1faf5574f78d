"""The command that fixes a thing on this distribution."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files

from enginewright.host.model import Host

_FAMILIES = {
    "ubuntu": "ubuntu",
    "debian": "debian",
    "rhel": "redhat",
    "fedora": "redhat",
    "centos": "redhat",
    "rocky": "redhat",
    "almalinux": "redhat",
    "suse": "suse",
    "opensuse": "suse",
    "opensuse-leap": "suse",
    "opensuse-tumbleweed": "suse",
    "sles": "suse",
    "arch": "arch",
}


def family(host: Host) -> str:
    """`debian`, `ubuntu`, `redhat`, `suse`, `arch` or `generic`, from os-release."""
    for name in (host.distribution.value or "", *host.distribution_like):
        if name in _FAMILIES:
            return _FAMILIES[name]
    return "generic"


@cache
def _commands() -> dict[str, dict[str, str]]:
    text = files("enginewright.doctor").joinpath("fixes.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def command(action: str, host: Host) -> str:
    """The command for an action of `fixes.toml`; inside WSL the driver belongs to Windows."""
    if host.container.wsl.value and action in ("install_driver", "upgrade_driver", "load_module"):
        return "install or update NVIDIA's driver in Windows; install none inside WSL"
    commands = _commands()[action]
    return commands.get(family(host), commands["generic"])
