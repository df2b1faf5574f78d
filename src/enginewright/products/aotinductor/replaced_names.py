"""Names of torch 2.11 and Triton 3.6 that are replaced to compile for a GPU that is not here.

torch compiles for the device that it finds. Here the device is a description, so each question to
a device is answered from it, nothing is launched, and no choice is left to a measurement or to the
host. `name_table` lists the names and checks them.
"""

from __future__ import annotations

import contextlib
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from enginewright.products.aotinductor.device import Gpu

MARCH = "x86-64-v2"
"""Instruction set of the host code, which launches kernels and computes sizes."""

Configuration = Mapping[str, Any]


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
