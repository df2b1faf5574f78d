"""Options of the backend."""

from __future__ import annotations

from pants.option.option_types import BoolOption, DictOption, SkipOption, StrOption
from pants.option.subsystem import Subsystem

ENVIRONMENTS = {
    "torch_compiler": "lockfiles:torch_compiler",
    "torch_validate": "lockfiles:torch_validate",
    "export": "lockfiles:export",
    "onnx": "lockfiles:onnx",
    "run": "lockfiles:run",
    "validate": "lockfiles:validate",
    "cuda": "lockfiles:cuda",
    "torch_operators": "lockfiles:torch_operators",
    "extension": "lockfiles:extension",
    "host": "lockfiles:host",
    "provenance": "lockfiles:provenance",
    "serve": "lockfiles:serve",
}


class EnginewrightSubsystem(Subsystem):
    options_scope = "enginewright"
    name = "enginewright"
    help = "Model inference engines as reproducible build artifacts."

    skip = SkipOption("test")
    library_root = StrOption(
        default="src",
        help=(
            "Source root that holds the library `enginewright`, from which each step takes just "
            "the modules that it imports. Empty where the library is a locked requirement of the "
            "tool environments instead."
        ),
    )
    environments = DictOption[str](
        default=ENVIRONMENTS,
        help="Address of the `tool_environment` target for each kind of step.",
    )
    record = StrOption(
        default=None,
        help="File to write the build record to: every step, and where its result came from.",
    )
    provenance = BoolOption(
        default=True,
        help=(
            "Put a bill of materials and the provenance of the build into each package: "
            "`bom.cdx.json` (CycloneDX) and `provenance.json` (in-toto, SLSA)."
        ),
    )
    repeat_cached = BoolOption(
        default=False,
        help=(
            "Run each step once more whose result came out of a cache, and fail where it now puts "
            "out something else: the step is not deterministic, or hosts differ in what no key has."
        ),
    )
