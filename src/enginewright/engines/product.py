"""What the project says of an inference product; the rest is in the product's room."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from enginewright.engines.manifest import OwnTable

LoadsWhere = Literal["all four fields", "same release", "any"]
DeviceUse = Literal["none", "compute-capability", "tuned"]


@dataclass(frozen=True)
class Product:
    """`backend` and `findings` are named as `module:attribute` and loaded when they are asked for.

    So whoever imports a product has neither its runtime nor the doctor with it.
    """

    name: str
    """As `engine.json` and toolchain files say it."""
    title: str
    """As people say it."""
    wheels: tuple[str, ...]
    """Packages that have the product's version, the most telling first; `{major}` is CUDA's."""
    library_prefixes: tuple[str, ...]
    """Shared libraries whose file names begin so belong to the product."""
    loads_where: LoadsWhere
    """How much of the building product's version the loading one must share."""
    device: DeviceUse
    """What an engine has of a GPU: nothing, code for compute capabilities, or one that it was
    tuned on."""
    own: type[OwnTable]
    """The product's table in `engine.json`."""
    backend: str | None = None
    """A function from `EnginePackage` and the number of threads to a `Backend`; None: nothing here
    runs its engines."""
    findings: str | None = None
    """A function from the folder of a package and its `EngineFacts` to the doctor's findings."""

    @property
    def version_rule(self) -> str:
        """What the version of the runtime must be, in words."""
        return {
            "all four fields": "all four version fields must be those of the runtime",
            "same release": "the runtime must be of the same release, major and minor",
            "any": "its files say what a runtime must read",
        }[self.loads_where]
