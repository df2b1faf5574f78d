"""What tests may ask of the host: told to their key, and asked for before any of them runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterable, Mapping, Tuple

from pants.engine.process import Process, ProcessCacheScope, ProcessResult
from pants.engine.rules import Get, MultiGet, collect_rules, rule
from pants.util.frozendict import FrozenDict
from pants.util.logging import LogLevel

from pants_enginewright.steps.hermetic_process import hermetic_process

VARIABLE = "ENGINEWRIGHT_HOST"
"""Variable of a test's process that says what was found; with it the key knows the host."""


def python_probe(minor: str, first: str = "") -> str:
    """Script that prints the version of a CPython with venv, looked for as `./pants` does."""
    places = (
        *(first, f"python{minor}"),
        f'"${{PYENV_ROOT:-$HOME/.pyenv}}"/versions/{minor}.*/bin/python{minor}',
        f'"$HOME"/.local/share/uv/python/cpython-{minor}.*/bin/python{minor}',
        *(f"{folder}/python{minor}" for folder in ("/usr/local/bin", "/usr/bin")),
    )
    # A pyenv shim is on PATH even where its version is not active: each is run.
    told = "import ensurepip, platform, ssl, venv; print(platform.python_version())"
    return (
        f"for python in {' '.join(filter(None, places))}; do"
        f" \"$python\" -I -c '{told}' && exit; done; false"
    )


@dataclass(frozen=True)
class Probe:
    """A shell script that prints what matters of the host, or nothing where it is not there."""

    script: str
    install: str = ""
    """How to get it. Empty: tests do without, and the key says so."""


PROBES: Mapping[str, Probe] = FrozenDict(
    {
        "g++": Probe("/usr/bin/g++ -dumpfullversion", "Debian, Ubuntu: apt install g++"),
        "chromedriver": Probe(
            "chromium --version && chromedriver --version",
            "Debian: apt install chromium chromium-driver",
        ),
        "git": Probe("git --version", "Debian, Ubuntu: apt install git"),
        "python3.9": Probe(
            python_probe("3.9", "${ENGINEWRIGHT_PANTS_PYTHON:-}"), "with venv; see ./pants"
        ),
        "python3.13": Probe(
            python_probe("3.13"), "with venv; pyenv install 3.13, or uv python install 3.13"
        ),
        # For root, and for who is made root of a namespace of its own.
        "namespaces": Probe(
            "if unshare --mount --net true || unshare --map-root-user --mount --net true;"
            " then echo yes; fi"
        ),
        "fuse": Probe("if : < /dev/fuse; then echo yes; fi"),
        "root": Probe('if [ "$(id -u)" = 0 ]; then echo yes; fi'),
    }
)


@dataclass(frozen=True)
class HostFactsRequest:
    names: Tuple[str, ...]
    """Of `PROBES`."""
    variables: FrozenDict[str, str]
    """Variables of the process that will use what is found, `PATH` among them."""

    @classmethod
    def create(cls, names: Iterable[str], variables: Mapping[str, str]) -> HostFactsRequest:
        used = ("ENGINEWRIGHT_PANTS_PYTHON", "HOME", "PATH", "PYENV_ROOT")
        return cls(
            tuple(sorted(names)),
            FrozenDict({name: variables[name] for name in used if name in variables}),
        )


@dataclass(frozen=True)
class HostFacts:
    found: FrozenDict[str, str]
    """By name what the probe printed; empty where the host has it not."""

    @property
    def missing(self) -> Tuple[str, ...]:
        """What tests cannot do without and the host has not, each with how to get it."""
        return tuple(
            f"{name} ({PROBES[name].install})"
            for name, found in self.found.items()
            if not found and PROBES[name].install
        )

    @property
    def variables(self) -> Mapping[str, str]:
        """For a process whose result depends on these facts."""
        told = "; ".join(f"{name}: {found or 'none'}" for name, found in self.found.items())
        return {VARIABLE: told} if told else {}


class MissingOnHostError(Exception):
    def __init__(self, missing: Iterable[str]) -> None:
        super().__init__(f"tests need of this host: {', '.join(sorted(set(missing)))}")


@rule(desc="Ask what the host has", level=LogLevel.DEBUG)
async def ask_host(request: HostFactsRequest) -> HostFacts:
    results = await MultiGet(
        Get(
            ProcessResult,
            Process,
            hermetic_process(
                # What is not there says so on standard error, in words of the host.
                ["/bin/sh", "-c", f"{{ {PROBES[name].script}\n}} 2>/dev/null || :"],
                f"Ask the host for {name}",
                variables=request.variables,
                # Asked in each run: what a daemon remembers may have been upgraded since.
                scope=ProcessCacheScope.PER_SESSION,
            ),
        )
        for name in request.names
    )
    found = (result.stdout.decode().strip() for result in results)
    return HostFacts(FrozenDict(zip(request.names, found)))  # noqa: B905


def rules() -> Iterable[Any]:
    return collect_rules()
