"""What an engine takes and gives, and how much of it: all that feeding needs to know of one."""

from __future__ import annotations

from dataclasses import dataclass, field

from enginewright.engines.limits import Limits
from enginewright.engines.package import EnginePackage
from enginewright.engines.tensor import EngineTensor
from enginewright.errors import InputError, Problem


@dataclass(frozen=True)
class Interface:
    where: str
    """Names the engine in messages."""
    tensors: tuple[EngineTensor, ...]
    limits: Limits = field(default_factory=Limits)

    def tensor(self, name: str) -> EngineTensor | None:
        return next((tensor for tensor in self.tensors if tensor.name == name), None)

    def names(self, mode: str, prefix: str = "") -> tuple[str, ...]:
        """Inputs or outputs that begin with `prefix`, in the engine's order."""
        return tuple(t.name for t in self.tensors if t.mode == mode and t.name.startswith(prefix))

    def output(self, name: str, purpose: str) -> EngineTensor:
        """Raise `InputError`, which says that the engine does not serve the purpose, without it."""
        tensor = self.tensor(name)
        if tensor is None:
            outputs = ", ".join(self.names("output")) or "no outputs"
            what = f"the engine does not {purpose}"
            raise InputError(Problem(what, self.where, f"output `{name}`", outputs))
        return tensor


def interface_of(package: EnginePackage) -> Interface:
    return Interface(str(package.folder), package.tensors, package.limits)
