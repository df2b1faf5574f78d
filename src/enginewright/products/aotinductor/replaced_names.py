"""Names of torch 2.11 and Triton 3.6 that are replaced to compile for a GPU that is not here.

torch compiles for the device that it finds. Here the device is a description, so each question to
a device is answered from it, nothing is launched, and no choice is left to a measurement or to the
host. Most of these names are private: `check_names` compares each with what this module was
written for, so that another version of torch fails in one clear line before anything is compiled.
"""

from __future__ import annotations

import contextlib
import inspect
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from enginewright.errors import Problem, raise_if_any
from enginewright.products.aotinductor.device import Gpu

TORCH = "2.11.0"
"""The release that the names below belong to."""
MARCH = "x86-64-v2"
"""Instruction set of the host code, which launches kernels and computes sizes."""

Configuration = Mapping[str, Any]


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


@dataclass
class Compilation:
    """What a compilation was asked to choose, and what it chose."""

    chosen: Mapping[str, Configuration]
    """Configuration by kernel, from an earlier measurement; the first one where none is named."""
    configurations: dict[str, list[Configuration]] = field(default_factory=dict)
    """Of the kernels that have several: all of them, in the compiler's order."""

    def choose(self, kernel: str, configurations: list[Configuration]) -> int:
        if len(configurations) > 1:
            self.configurations[kernel] = configurations
        wanted = self.chosen.get(kernel)
        return configurations.index(wanted) if wanted in configurations else 0


@contextlib.contextmanager
def replaced(gpu: Gpu | None, compilation: Compilation) -> Iterator[Any]:
    """Replace the names while the context lasts; yields the mode for tensors without memory.

    `gpu` None compiles for the processor: only what would choose by the host is replaced.
    """
    undo: list[tuple[Any, str, Any]] = []

    def put(owner: Any, name: str, value: Any) -> None:
        undo.append((owner, name, owner.__dict__[name] if name in vars(owner) else _ABSENT))
        setattr(owner, name, value)

    try:
        _replace_choices_of_the_host(put)
        mode = None
        if gpu is not None:
            mode = _replace_export_mode(put)
            _replace_device(put, gpu)
            _replace_launches(put, gpu)
            _replace_tuning(put, compilation)
        yield mode
    finally:
        for owner, name, value in reversed(undo):
            if value is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, value)


_ABSENT = object()
_Put = Callable[[Any, str, Any], None]


def _always(value: Any) -> Callable[..., Any]:
    """A function that takes anything and returns `value`."""

    def answer(*_: object, **__: object) -> Any:
        return value

    return answer


def _replace_choices_of_the_host(put: _Put) -> None:
    import torch._inductor.cpp_builder as builder
    import torch._inductor.cpu_vec_isa as isa
    from torch._inductor.codegen.cpp_wrapper_cpu import CppWrapperCpu

    flags, run = builder._get_optimization_cflags, builder._run_compile_cmd

    def portable_flags(
        cpp_compiler: str, min_optimize: bool = False
    ) -> tuple[list[str], list[str]]:
        compile_flags, link_flags = flags(cpp_compiler, min_optimize)
        named = [f"march={MARCH}" if flag == "march=native" else flag for flag in compile_flags]
        return named, link_flags

    kept = []

    def int_array(
        self: Any, int_array: Any, writeline: Any, known_statically: bool = False, graph: Any = None
    ) -> str:
        owner = getattr(writeline, "__self__", writeline)
        kept.append(owner)  # so that its id stays its own
        key = (int_array, id(owner), known_statically, id(graph) if graph else None)
        names = self.codegen_int_array_var_cache
        if key not in names:
            names[key] = self._codegen_int_array_var_impl(int_array, writeline, known_statically)
        return str(names[key])

    put(builder, "_get_optimization_cflags", portable_flags)
    put(builder, "_get_python_related_args", lambda: ([], []))
    put(builder, "_run_compile_cmd", lambda cmd_line, _cwd: run(cmd_line, "."))
    put(isa, "pick_vec_isa", lambda: isa.invalid_vec_isa)
    put(CppWrapperCpu, "codegen_int_array_var", int_array)


def _replace_export_mode(put: _Put) -> Any:
    import torch._export.non_strict_utils as export
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    mode = FakeTensorMode(shape_env=ShapeEnv(), allow_non_fake_inputs=True, export=True)

    def the_mode(shape_env: Any = None, **_: Any) -> Any:
        mode.shape_env = shape_env
        mode.static_shapes = False
        return mode

    put(export, "FakeTensorMode", the_mode)
    return mode


def _replace_device(put: _Put, gpu: Gpu) -> None:
    import torch
    import torch._inductor.graph as graph
    import torch._subclasses.fake_tensor as fake_tensor
    from torch._dynamo.device_interface import CudaInterface

    properties = _properties(gpu)
    answers: Mapping[str, Callable[..., Any]] = {
        "is_available": _always(True),
        "get_compute_capability": _always(gpu.architecture),
        "get_device_properties": _always(properties),
        "current_device": _always(0),
        "device_count": _always(1),
        "synchronize": _always(None),
        "get_raw_stream": _always(0),
        "is_bf16_supported": _always(True),
        "is_triton_capable": _always(True),
        "raise_if_triton_unavailable": _always(None),
    }
    for name, answer in answers.items():
        put(CudaInterface, name, staticmethod(answer))
    worker = CudaInterface.Worker
    put(worker, "get_device_properties", staticmethod(answers["get_device_properties"]))
    put(worker, "current_device", staticmethod(answers["current_device"]))
    put(torch.cuda, "current_device", _always(0))
    put(torch.cuda, "device_count", _always(1))
    put(torch.cuda, "get_device_properties", _always(properties))
    put(torch.cuda, "get_device_capability", _always((gpu.major, gpu.minor)))
    put(torch.cuda, "get_device_name", _always(gpu.name))
    put(torch.cuda, "_lazy_init", _always(None))
    put(fake_tensor, "init_gpu_context", _always(None))
    put(graph, "is_same_tensor", lambda data, value: data is value)


def _properties(gpu: Gpu) -> types.SimpleNamespace:
    return types.SimpleNamespace(
        name=gpu.name,
        major=gpu.major,
        minor=gpu.minor,
        multi_processor_count=gpu.multi_processor_count,
        regs_per_multiprocessor=gpu.regs_per_multiprocessor,
        max_threads_per_multi_processor=gpu.max_threads_per_multi_processor,
        max_threads_per_block=gpu.max_threads_per_block,
        warp_size=gpu.warp_size,
        shared_memory_per_block=gpu.shared_memory_per_block,
        shared_memory_per_block_optin=gpu.shared_memory_per_block_optin,
        total_memory=gpu.total_memory,
        L2_cache_size=gpu.l2_cache_size,
    )


def _replace_launches(put: _Put, gpu: Gpu) -> None:
    import torch._inductor.runtime.triton_helpers as helpers
    import triton
    from torch._inductor.runtime.triton_heuristics import StaticTritonCompileResult
    from triton.compiler.compiler import CompiledKernel

    def no_handles(self: Any) -> None:
        self.module = self.function = 0
        self.n_regs = self.n_spills = 0
        self.n_max_threads = gpu.max_threads_per_block
        self._run = None

    put(helpers, "set_driver_to_gpu", _always(None))
    put(CompiledKernel, "_init_handles", no_handles)
    put(CompiledKernel, "run", property(_always(None)))
    put(StaticTritonCompileResult, "can_statically_launch", staticmethod(_always(None)))
    triton.runtime.driver.set_active(_described_driver(gpu))


def _described_driver(gpu: Gpu) -> Any:
    """What Triton's compiler asks the active driver for."""
    import torch
    from triton.backends.compiler import GPUTarget
    from triton.backends.nvidia.driver import ty_to_cpp

    limits = {
        "max_shared_mem": gpu.shared_memory_per_block_optin,
        "multiprocessor_count": gpu.multi_processor_count,
        "warpSize": gpu.warp_size,
        "max_num_regs": gpu.regs_per_multiprocessor,
    }
    return types.SimpleNamespace(
        get_current_target=lambda: GPUTarget("cuda", gpu.architecture, gpu.warp_size),
        get_current_device=_always(0),
        get_current_stream=_always(0),
        get_active_torch_device=lambda: torch.device("cuda", 0),
        get_device_interface=lambda: torch.cuda,
        map_python_to_cpp_type=ty_to_cpp,
        utils=types.SimpleNamespace(get_device_properties=_always(limits)),
    )


def _replace_tuning(put: _Put, compilation: Compilation) -> None:
    from torch._inductor.codegen.wrapper import PythonWrapperCodegen
    from torch._inductor.runtime.triton_heuristics import CachingAutotuner

    def make_launchers(self: Any) -> None:
        if not self.launchers:
            self.launchers = [result.make_launcher() for result in self.compile_results]

    def compile_and_choose(self: Any) -> None:
        self.kernel_autotune_defs.splice("\nasync_compile.wait(globals())\ndel async_compile\n")
        scope: dict[str, Any] = {}
        exec(self.kernel_autotune_defs.getvalue(), scope)
        for name, kernel in sorted(scope.items()):
            if isinstance(kernel, CachingAutotuner):
                if not kernel.launchers:
                    kernel.precompile()
                choices = [_configuration(launcher.config) for launcher in kernel.launchers]
                launcher = kernel.launchers[compilation.choose(name, choices)]
                kernel.launchers = [launcher]
                kernel.save_gpu_kernel(0, launcher)  # type: ignore[no-untyped-call]

    put(CachingAutotuner, "_make_launchers", make_launchers)
    put(CachingAutotuner, "_dynamic_scale_rblock", _always(None))
    put(PythonWrapperCodegen, "generate_and_run_autotune_block", compile_and_choose)


def _configuration(config: Any) -> Configuration:
    """A configuration of a Triton kernel: its block sizes, warps and stages."""
    return {**config.kwargs, "num_warps": config.num_warps, "num_stages": config.num_stages}
