"""The names of torch 2.11 and Triton 3.6 that `replaced_names` replaces, each with its reason.

Most are private: `check_names` compares each with what this project was written for, so that
another version of torch fails in one clear line before anything is compiled.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from enginewright.errors import Problem, raise_if_any

TORCH = "2.11.0"
"""The release that the names below belong to."""


@dataclass(frozen=True)
class ReplacedName:
    module: str
    name: str
    """Dotted below the module."""
    parameters: tuple[str, ...] | None
    """Of the function that stands there; None for what is no function."""
    why: str


_DEVICE = "a question to the device, answered from the description"
_NOT_HERE = "asks the driver, and there is none"
_INTERFACE = "torch._dynamo.device_interface"
_AUTOTUNER = "torch._inductor.runtime.triton_heuristics"

NAMES = (
    ReplacedName("torch._subclasses.fake_tensor", "init_gpu_context", ("device",), _NOT_HERE),
    ReplacedName(_INTERFACE, "CudaInterface.is_available", (), _DEVICE),
    ReplacedName(_INTERFACE, "CudaInterface.get_compute_capability", ("device",), _DEVICE),
    ReplacedName(_INTERFACE, "CudaInterface.Worker.get_device_properties", ("device",), _DEVICE),
    ReplacedName(_INTERFACE, "CudaInterface.Worker.current_device", (), _DEVICE),
    ReplacedName(_INTERFACE, "CudaInterface.get_device_properties", None, _DEVICE),
    ReplacedName(_INTERFACE, "CudaInterface.current_device", None, _DEVICE),
    ReplacedName(_INTERFACE, "CudaInterface.device_count", None, _DEVICE),
    ReplacedName(_INTERFACE, "CudaInterface.synchronize", None, _NOT_HERE),
    ReplacedName(_INTERFACE, "CudaInterface.get_raw_stream", None, _NOT_HERE),
    ReplacedName(_INTERFACE, "CudaInterface.is_bf16_supported", None, _DEVICE),
    ReplacedName(_INTERFACE, "CudaInterface.is_triton_capable", ("device",), _DEVICE),
    ReplacedName(_INTERFACE, "CudaInterface.raise_if_triton_unavailable", ("device",), _DEVICE),
    ReplacedName("torch.cuda", "current_device", (), _DEVICE),
    ReplacedName("torch.cuda", "device_count", (), _DEVICE),
    ReplacedName("torch.cuda", "get_device_properties", ("device",), _DEVICE),
    ReplacedName("torch.cuda", "get_device_capability", ("device",), _DEVICE),
    ReplacedName("torch.cuda", "get_device_name", ("device",), _DEVICE),
    ReplacedName("torch.cuda", "_lazy_init", (), _NOT_HERE),
    ReplacedName("torch._inductor.runtime.triton_helpers", "set_driver_to_gpu", (), _NOT_HERE),
    ReplacedName(
        "triton.compiler.compiler",
        "CompiledKernel._init_handles",
        ("self",),
        "loads the kernel into the driver",
    ),
    ReplacedName("triton.compiler.compiler", "CompiledKernel.run", None, "starts the kernel"),
    ReplacedName(
        _AUTOTUNER,
        "StaticTritonCompileResult.can_statically_launch",
        ("kernel", "inductor_meta", "triton_meta", "heuristic_type"),
        "would load the kernel into the driver",
    ),
    ReplacedName(
        _AUTOTUNER, "CachingAutotuner._make_launchers", ("self",), "loads every configuration"
    ),
    ReplacedName(
        _AUTOTUNER,
        "CachingAutotuner._dynamic_scale_rblock",
        ("self",),
        "chooses by occupancy, which the driver would tell",
    ),
    ReplacedName(
        "torch._inductor.codegen.wrapper",
        "PythonWrapperCodegen.generate_and_run_autotune_block",
        ("self",),
        "runs the kernels to choose among their configurations",
    ),
    ReplacedName(
        "torch._inductor.graph",
        "is_same_tensor",
        ("data", "value"),
        "compares addresses, and all tensors without memory have the same: constants would merge",
    ),
    ReplacedName(
        "torch._inductor.codegen.cpp_wrapper_cpu",
        "CppWrapperCpu.codegen_int_array_var",
        ("self", "int_array", "writeline", "known_statically", "graph"),
        "remembers by the id of an object that dies at once, so sources differ from run to run",
    ),
    ReplacedName(
        "torch._export.non_strict_utils",
        "FakeTensorMode",
        None,
        "parameters without memory need the mode that the export uses",
    ),
    ReplacedName(
        "torch._inductor.cpu_vec_isa",
        "pick_vec_isa",
        (),
        "chooses the vector instructions of the host that builds",
    ),
    ReplacedName(
        "torch._inductor.cpp_builder",
        "_get_optimization_cflags",
        ("cpp_compiler", "min_optimize"),
        "compiles for the processor of the host that builds",
    ),
    ReplacedName(
        "torch._inductor.cpp_builder",
        "_get_python_related_args",
        (),
        "names the folders of the Python that builds, which an engine does not use",
    ),
    ReplacedName(
        "torch._inductor.cpp_builder",
        "_run_compile_cmd",
        ("cmd_line", "cwd"),
        "changes the folder, and the paths of a step begin in it",
    ),
)


def check_names(version: str) -> None:
    """Raise `InputError` with every name that is not what this module was written for."""
    problems = []
    if version.split("+")[0] != TORCH:
        problems.append(
            Problem(
                "another version of torch than the one this product knows from inside",
                "the tool environment of the build",
                f"torch {TORCH}",
                f"torch {version}",
                f"lock torch=={TORCH}",
            )
        )
    for entry in NAMES:
        found = _resolve(entry)
        if found is None:
            problems.append(
                Problem("torch has no such name any more", f"{entry.module}.{entry.name}")
            )
        elif entry.parameters is not None and _parameters(found) != entry.parameters:
            problems.append(
                Problem(
                    "a name of torch takes other parameters",
                    f"{entry.module}.{entry.name}",
                    ", ".join(entry.parameters),
                    ", ".join(_parameters(found)),
                )
            )
    raise_if_any(problems)


def _resolve(entry: ReplacedName) -> Any:
    owner: Any = import_module(entry.module)
    for part in entry.name.split("."):
        owner = getattr(owner, part, None)
    return owner


def _parameters(function: Any) -> tuple[str, ...]:
    return tuple(inspect.signature(inspect.unwrap(function)).parameters)
