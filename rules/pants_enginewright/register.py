"""What the backend brings: lists, no logic."""

from pants_enginewright.goals import generate_lockfiles
from pants_enginewright.target_types import (
    EngineTestTarget,
    ModelCheckpointTarget,
    OnnxModelTarget,
    TensorrtRtxEngineTarget,
    TextDatasetTarget,
    ToolchainTarget,
    ToolEnvironmentTarget,
)
from pants_enginewright.util_rules import (
    action,
    addresses,
    installers,
    interpreter,
    library,
    package_index,
    tool_environment,
)


def target_types():
    return [
        EngineTestTarget,
        ModelCheckpointTarget,
        OnnxModelTarget,
        TensorrtRtxEngineTarget,
        TextDatasetTarget,
        ToolchainTarget,
        ToolEnvironmentTarget,
    ]


def rules():
    return [
        *action.rules(),
        *addresses.rules(),
        *generate_lockfiles.rules(),
        *installers.rules(),
        *interpreter.rules(),
        *library.rules(),
        *package_index.rules(),
        *tool_environment.rules(),
    ]
