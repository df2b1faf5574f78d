"""An engine that one machine has built, and how to make it another one with few steps to run."""

import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from machine import Machine
from workspace import Run, Workspace

ENGINE = "engines:tiny_cached"
PLAN = "engines/tiny_cached/engine.plan"
BUILD = "build_engine engines:tiny_cached"
OWN_STEPS = [
    BUILD,
    "estimate_size engines:tiny_cached",
    "write_manifest engines:tiny_cached",
    "write_provenance engines:tiny_cached",
]
"""What runs for a variant: all that depends on the engine's profile."""
PROFILE = '"batch": (1, 1, 2),\n            "sequence"'
DAEMON = {"PANTS_PANTSD": "true"}
"""For many short runs of one machine."""


@dataclass(frozen=True)
class KnownEngine:
    """The engine as it was built, and the machine that built it."""

    machine: Machine
    first: Run

    @classmethod
    def build(cls, folder: Path, remote: str, **options: str) -> "KnownEngine":
        workspace = Workspace.create(folder / "checkout")
        machine = Machine.create(workspace, folder / "first", remote, own_caches=False)
        machine = replace(machine, options=options)
        first = machine.run("package", ENGINE)
        assert first.exit_code == 0, first.output
        return cls(machine, first)

    def informed(self, folder: Path, remote: str) -> Machine:
        """A machine with a checkout of its own that has what the first one's store has."""
        shutil.copytree(self.machine.store, folder / "store")
        workspace = self.machine.workspace.copy_to(folder / "checkout")
        machine = Machine.create(workspace, folder, remote, own_caches=False)
        return replace(machine, options=self.machine.options)


def build_variant(machine: Machine, batch: int, *options: str, **variables: str) -> Run:
    """Package another engine, by its largest batch, which differs in `OWN_STEPS`."""
    build = machine.workspace.root / "engines" / "BUILD"
    text = build.read_text()
    assert text.count(PROFILE) == 1
    with machine.workspace.changed("engines/BUILD"):
        build.write_text(text.replace(PROFILE, PROFILE.replace("2", str(batch))))
        return machine.run(*options, "package", ENGINE, **variables)


@contextlib.contextmanager
def stopped_afterwards(*machines: Machine) -> Iterator[None]:
    """End the daemons of the machines."""
    try:
        yield
    finally:
        for machine in machines:
            machine.workspace.stop()
