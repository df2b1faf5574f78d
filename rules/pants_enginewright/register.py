"""What the backend brings: lists, no logic."""

from typing import Any, Iterable

from pants_enginewright.goals import (
    build_reference,
    doctor,
    generate_lockfiles,
    library_tests,
    lock_toolchain,
    package,
    run,
    test,
)
from pants_enginewright.goals import record as build_record
from pants_enginewright.targets.cuda import (
    CudaExtensionTarget,
    CudaHeadersTarget,
    CudaKernelsTarget,
)
from pants_enginewright.targets.engines import OnnxruntimeEngineTarget, TensorrtRtxEngineTarget
from pants_enginewright.targets.environments import ToolchainTarget, ToolEnvironmentTarget
from pants_enginewright.targets.library_tests import LibraryTestsTarget, LibraryTestTarget
from pants_enginewright.targets.models import (
    ModelCheckpointTarget,
    OnnxModelTarget,
    QuantizedModelTarget,
)
from pants_enginewright.targets.validation import EngineTestTarget, TextDatasetTarget
from pants_enginewright.util_rules import (
    action,
    addresses,
    build_file,
    checkpoint,
    compilation,
    dependencies,
    engine,
    files,
    includes,
    installers,
    interpreter,
    library,
    library_test_files,
    onnx_model,
    onnxruntime_engine,
    package_index,
    program,
    quantized_model,
    record,
    size_estimate,
    step_outputs,
    tool_environment,
    toolchain,
    validation,
)


def target_types() -> Iterable[Any]:
    return [
        CudaExtensionTarget,
        CudaHeadersTarget,
        CudaKernelsTarget,
        EngineTestTarget,
        LibraryTestTarget,
        LibraryTestsTarget,
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
        files,
        generate_lockfiles,
        includes,
        installers,
        interpreter,
        library,
        library_test_files,
        library_tests,
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
