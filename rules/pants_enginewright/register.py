"""What the backend brings: lists, no logic."""

from typing import Any, Iterable

from pants_enginewright.build_files import addresses, build_file, dependencies
from pants_enginewright.engines import engine, size_estimate
from pants_enginewright.engines.targets import OnnxruntimeEngineTarget, TensorrtRtxEngineTarget
from pants_enginewright.environments import (
    installers,
    interpreter,
    package_index,
    tool_environment,
    toolchain,
)
from pants_enginewright.environments.targets import ToolchainTarget, ToolEnvironmentTarget
from pants_enginewright.goals import (
    build_reference,
    doctor,
    generate_lockfiles,
    lock_toolchain,
    package,
    run,
    test,
)
from pants_enginewright.goals import record as build_record
from pants_enginewright.kernels import compilation, includes
from pants_enginewright.kernels.targets import (
    CudaExtensionTarget,
    CudaHeadersTarget,
    CudaKernelsTarget,
)
from pants_enginewright.models import checkpoint, export, graph, onnx_model, quantized_model
from pants_enginewright.models.targets import (
    ModelCheckpointTarget,
    OnnxModelTarget,
    QuantizedModelTarget,
)
from pants_enginewright.products.onnxruntime import build as onnxruntime_engine
from pants_enginewright.steps import (
    action,
    fetched_files,
    files,
    finished_package,
    library,
    program,
    record,
    step_outputs,
)
from pants_enginewright.validation import validation
from pants_enginewright.validation.targets import EngineTestTarget, TextDatasetTarget


def target_types() -> Iterable[Any]:
    return [
        CudaExtensionTarget,
        CudaHeadersTarget,
        CudaKernelsTarget,
        EngineTestTarget,
        ModelCheckpointTarget,
        OnnxModelTarget,
        OnnxruntimeEngineTarget,
        QuantizedModelTarget,
        TensorrtRtxEngineTarget,
        TextDatasetTarget,
        ToolchainTarget,
        ToolEnvironmentTarget,
    ]


def rules() -> Iterable[Any]:
    modules = (
        action,
        addresses,
        build_file,
        build_record,
        build_reference,
        checkpoint,
        compilation,
        dependencies,
        doctor,
        engine,
        export,
        fetched_files,
        files,
        finished_package,
        generate_lockfiles,
        graph,
        includes,
        installers,
        interpreter,
        library,
        lock_toolchain,
        onnx_model,
        onnxruntime_engine,
        package,
        package_index,
        program,
        quantized_model,
        record,
        run,
        size_estimate,
        step_outputs,
        test,
        tool_environment,
        toolchain,
        validation,
    )
    return [rule for module in modules for rule in module.rules()]
