"""What the rules see of a kind of target: its fields, and the steps that stand behind it."""

from __future__ import annotations

import copy
import dataclasses
from abc import ABCMeta
from dataclasses import dataclass
from typing import Any, Iterable, Tuple, TypeVar

from pants.engine.target import FieldSet
from pants.engine.unions import UnionRule, is_union, union

K = TypeVar("K", bound="Kind")


@dataclass(frozen=True)
class Steps:
    """What runs for a target. `--changed-dependents` selects it when one of these changes."""

    modules: Tuple[str, ...] = ()
    """Dotted names of the library's modules that are started, or imported by name."""
    environments: Tuple[str, ...] = ()
    """Kinds of the tool environments that they run in, keys of `[enginewright].environments`."""

    @classmethod
    def of(cls, *actions: str, environments: Tuple[str, ...] = ()) -> Steps:
        """Those of modules in `enginewright.actions`."""
        return cls(tuple(f"enginewright.actions.{name}" for name in actions), environments)

    @classmethod
    def of_product(cls, name: str, environments: Tuple[str, ...] = ()) -> Steps:
        """Those of the room of a product, which build and describe its engines."""
        room = f"enginewright.products.{name}"
        return cls((f"{room}.build", f"{room}.describe"), environments)

    def __add__(self, other: Steps) -> Steps:
        return Steps(self.modules + other.modules, self.environments + other.environments)


@union
@dataclass(frozen=True)
class Kind(FieldSet, metaclass=ABCMeta):
    """Subclass for a kind of target, beside the rule that takes it, and list `*X.rules()`.

    The class says which fields make a target one of this kind; `steps` says what runs for it. The
    module that the class is in becomes a dependency of the target, with all that it imports.
    """

    # NB: not part of `__init__`, or no field of a subclass could do without a default.
    fresh: bool = dataclasses.field(default=False, init=False)
    """Whether the steps run past all caches: what these gave has failed a check."""

    @property
    def steps(self) -> Steps:
        return Steps()

    def afresh(self: K) -> K:
        """The same, to be made without what caches keep of it."""
        other = copy.copy(self)
        object.__setattr__(other, "fresh", True)
        return other

    @classmethod
    def rules(cls) -> Iterable[Any]:
        """What registers the class: as a kind, and as a member of each union that it is made of."""
        return tuple(UnionRule(base, cls) for base in cls.__mro__[1:] if is_union(base))
