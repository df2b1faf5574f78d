"""The backend without any product; each of these has one of its own in `products/`."""

from typing import Any, Iterable

from pants_enginewright.build_files import dependencies
from pants_enginewright.environments import toolchain
from pants_enginewright.environments.targets import ToolchainTarget, ToolEnvironmentTarget
from pants_enginewright.goals import (
    build_reference,
    device_kit,
    doctor,
    explain,
    generate_lockfiles,
    lock_toolchain,
    package,
    record,
    report,
    run,
    test,
)
from pants_enginewright.kernels.targets import (
    CudaExtensionTarget,
    CudaHeadersTarget,
    CudaKernelsTarget,
    OperatorLibraryTarget,
)
from pants_enginewright.models import export, onnx_file, quantized_model
from pants_enginewright.models.onnx_file_targets import OnnxFileTarget
from pants_enginewright.models.targets import (
    ModelCheckpointTarget,
    OnnxModelTarget,
    QuantizedModelTarget,
)
from pants_enginewright.validation.benchmark_targets import EngineBenchmarkTarget
from pants_enginewright.validation.targets import (
    EngineTestTarget,
    TensorDatasetTarget,
    TextDatasetTarget,
)


def target_types() -> Iterable[Any]:
    return [
        CudaExtensionTarget,
        CudaHeadersTarget,
        CudaKernelsTarget,
        EngineBenchmarkTarget,
        EngineTestTarget,
        ModelCheckpointTarget,
        OnnxFileTarget,
        OnnxModelTarget,
        OperatorLibraryTarget,
        QuantizedModelTarget,
        TensorDatasetTarget,
        TextDatasetTarget,
        ToolchainTarget,
        ToolEnvironmentTarget,
    ]


def rules() -> Iterable[Any]:
    # Each brings what it stands on.
    modules = (
        build_reference,
        dependencies,
        device_kit,
        doctor,
        explain,
        export,
        generate_lockfiles,
        lock_toolchain,
        onnx_file,
        package,
        quantized_model,
        record,
        report,
        run,
        test,
        toolchain,
    )
    return [rule for module in modules for rule in module.rules()]
