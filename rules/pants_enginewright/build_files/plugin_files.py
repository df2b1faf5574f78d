"""The plugin's own files behind each target, for a repository that has the plugin in its tree.

They are dependencies for `--changed-dependents` alone: no step takes them in, so that an edit of a
rule selects what it may change, and runs only the steps whose inputs it did change.
"""

from __future__ import annotations

import os
from typing import Dict, Tuple

from pants.base.build_environment import get_buildroot

from pants_enginewright.engines.targets import OnnxruntimeEngineTarget, TensorrtRtxEngineTarget
from pants_enginewright.environments.targets import ToolchainTarget, ToolEnvironmentTarget
from pants_enginewright.kernels.targets import (
    CudaExtensionTarget,
    CudaHeadersTarget,
    CudaKernelsTarget,
)
from pants_enginewright.models.targets import (
    ModelCheckpointTarget,
    OnnxModelTarget,
    QuantizedModelTarget,
)
from pants_enginewright.validation.targets import EngineTestTarget, TextDatasetTarget

# The module of each target's rule; import inference finds what that one needs.
MODULES: Dict[str, Tuple[str, ...]] = {
    CudaExtensionTarget.alias: ("goals/package.py",),
    CudaHeadersTarget.alias: (),
    CudaKernelsTarget.alias: ("goals/package.py",),
    EngineTestTarget.alias: ("goals/test.py",),
    ModelCheckpointTarget.alias: ("models/checkpoint.py",),
    OnnxModelTarget.alias: ("models/onnx_model.py",),
    OnnxruntimeEngineTarget.alias: ("goals/package.py",),
    QuantizedModelTarget.alias: ("models/quantized_model.py",),
    TensorrtRtxEngineTarget.alias: ("goals/package.py",),
    TextDatasetTarget.alias: (),
    ToolchainTarget.alias: ("environments/toolchain.py",),
    ToolEnvironmentTarget.alias: ("environments/tool_environment.py",),
}
# A target that has no entry above depends on all rules.
ALL = ("register.py",)


def plugin_files(alias: str) -> Tuple[str, ...]:
    """Paths from the build root; none where the plugin is installed from a wheel."""
    folder = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    inside = os.path.relpath(folder, os.path.realpath(get_buildroot()))
    if inside.startswith(os.pardir):
        return ()
    return tuple(os.path.join(inside, module) for module in MODULES.get(alias, ALL))
