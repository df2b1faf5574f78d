"""The seam between engines and the products that they are made for.

A product is a folder with a backend of its own: `targets.py` with its vocabulary, `build.py` with a
subclass of `BuildEngine` and one rule, and `register.py`. Nothing else in the plugin names it.
"""

from __future__ import annotations

from abc import ABCMeta
from dataclasses import dataclass, field
from typing import ClassVar, Optional, Tuple

from pants.engine.unions import union
from pants.util.frozendict import FrozenDict

from pants_enginewright.build_files.kind import Kind
from pants_enginewright.compat import EnvironmentName
from pants_enginewright.engines.size_estimate import NOT_ESTIMATED, SizeEstimate
from pants_enginewright.environments.toolchain import Toolchain
from pants_enginewright.kernels.compilation import CompiledCode
from pants_enginewright.models.model_source import ModelSource
from pants_enginewright.steps.action import ActionInput, ActionRequest, ActionResult
from pants_enginewright.steps.files import Files


@union(in_scope_types=[EnvironmentName])
@dataclass(frozen=True)
class BuildEngine(Kind, metaclass=ABCMeta):
    """Subclass for the engine target of a product, list `*X.rules()`, and write one rule that takes
    the subclass to `BuiltEngine`.

    The target has `ENGINE_FIELDS` among its fields. `steps` names the modules that run, by which
    `--changed-dependents` selects it: `Steps.of_product(product)` and those of the checks. The
    rule passes `fresh` on to what it asks for.
    """

    product: ClassVar[str]
    """Its folder in `enginewright.products`, whose `describe.py` writes engine.json."""
    runs_in: ClassVar[Optional[str]] = None
    """Kind of the tool environment that runs its engines on this host; None: on a device alone."""
    measured_in: ClassVar[str] = "validate"
    """Kind of the tool environment that measures its engines beside PyTorch's model."""
    size_is_estimated: ClassVar[bool] = False
    """Whether the estimate of an engine's bytes is meant for an engine of this product."""

    @property
    def room(self) -> str:
        """Dotted name of the product's package in the library."""
        return f"enginewright.products.{self.product}"

    @property
    def needs_device(self) -> bool:
        """Whether this engine runs on a GPU alone; a product may have engines of both kinds."""
        return self.runs_in is None


@dataclass(frozen=True)
class Candidate:
    """What a test measures on a host without a device."""

    inputs: Tuple[ActionInput, ...]
    """`package`, where the engine itself runs there; else `model`, which computes what the engine
    computes."""
    limits: FrozenDict[str, int] = field(default_factory=FrozenDict)
    """Greatest `batch`, `sequence` and `total_sequence` that the engine takes, where the inputs do
    not say it."""
    room: Optional[str] = None
    """The room of the product that opens a `package`."""
    shapes: Tuple[FrozenDict[str, int], ...] = ()
    """Sizes of all dynamic axes that the engine takes together, such as the least of a profile."""

    @property
    def modules(self) -> Tuple[str, ...]:
        """What opens it."""
        return () if self.room is None else (f"{self.room}.product", f"{self.room}.backend")


@dataclass(frozen=True)
class BuiltEngine:
    source: ModelSource
    build: ActionRequest
    """The step that built it, to run it again."""
    result: ActionResult
    """What that step said."""
    artifacts: Files
    """Which of the files that it put out belong into the package, at their paths there."""
    steps: Tuple[ActionResult, ...]
    """All that ran beside the source's steps, `result` among them."""
    candidate: Optional[Candidate] = None
    """What a test measures in the place of an engine that needs a device; None: nothing can."""
    toolchain: Optional[Toolchain] = None
    estimate: SizeEstimate = NOT_ESTIMATED
    kernels: Tuple[CompiledCode, ...] = ()
    """Shipped beside the engine; the build does not depend on them."""
