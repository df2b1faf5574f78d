"""BUILD vocabulary of CUDA code."""

from __future__ import annotations

from pants.core.goals.package import OutputPathField
from pants.engine.target import COMMON_TARGET_FIELDS, MultipleSourcesField, Target

from pants_enginewright.build_files.base import EnginewrightDependenciesField
from pants_enginewright.build_files.compute_capabilities import ComputeCapabilitiesField
from pants_enginewright.build_files.fields import (
    FlagField,
    ListField,
    NumberField,
    TextField,
)
from pants_enginewright.compat import EnvironmentField


class CodeSourcesField(MultipleSourcesField):
    """Sources that are compiled together with the headers that they include."""


class CudaSourcesField(CodeSourcesField):
    default = ("*.cu",)
    expected_file_extensions = (".cu",)
    uses_source_roots = False
    help = 'CUDA sources with `extern "C"` kernels. Headers are found from their includes.'


class CudaHeadersSourcesField(MultipleSourcesField):
    default = ("*.cuh", "*.h")
    expected_file_extensions = (".cuh", ".h", ".hpp")
    uses_source_roots = False
    help = "Headers that CUDA sources include."


class PtxField(FlagField):
    alias = "ptx"
    default = True
    help = "Keep PTX for the newest of the compute capabilities, for GPUs that come later."


class CompilerFlagsField(ListField):
    alias = "flags"
    default = ()
    help = "Flags for nvcc."


class IncludeDirsField(ListField):
    alias = "include_dirs"
    default = ("csrc",)
    expected = "a list of folders, relative to the top of the repository"
    help = "Folders to search for quoted includes, after the including file's own."


class MaxRegistersField(NumberField):
    alias = "max_registers"
    default = None
    least = 16
    most = 255
    help = "Most registers a thread may use; with it, a kernel that spills is an error."


class CudaHeadersTarget(Target):
    alias = "cuda_headers"
    core_fields = (*COMMON_TARGET_FIELDS, EnginewrightDependenciesField, CudaHeadersSourcesField)
    help = "Headers of CUDA code; sources that include one depend on this target."


class CudaKernelsTarget(Target):
    alias = "cuda_kernels"
    core_fields = (
        *COMMON_TARGET_FIELDS,
        EnginewrightDependenciesField,
        EnvironmentField,
        CudaSourcesField,
        ComputeCapabilitiesField,
        PtxField,
        CompilerFlagsField,
        IncludeDirsField,
        MaxRegistersField,
        OutputPathField,
    )
    help = (
        "CUDA kernels, compiled by the nvcc of the tool environment `cuda`: a cubin for each "
        "compute capability, PTX, a fatbin, and kernels.json, which describes them."
    )


class ExtensionSourcesField(CodeSourcesField):
    default = ("*.cpp",)
    expected_file_extensions = (".cpp",)
    uses_source_roots = False
    help = "C++ sources with a `PYBIND11_MODULE`. Headers are found from their includes."


class ModuleField(TextField):
    alias = "module"
    default = None
    expected = "the name of a Python module"
    help = "The name that the sources give to `PYBIND11_MODULE`. Default: the target's name."


class SanitizersField(ListField):
    alias = "sanitizers"
    default = ()
    expected = "a list of 'address', 'undefined'"
    help = "Sanitizers of the host compiler to build with."

    @staticmethod
    def accepts(item: str) -> bool:
        return item in ("address", "undefined")


class CudaExtensionTarget(Target):
    alias = "cuda_extension"
    core_fields = (
        *COMMON_TARGET_FIELDS,
        EnginewrightDependenciesField,
        EnvironmentField,
        ExtensionSourcesField,
        ModuleField,
        CompilerFlagsField,
        IncludeDirsField,
        SanitizersField,
        OutputPathField,
    )
    help = (
        "A pybind11 module of the headers that CUDA kernels share with the CPU, so that their "
        "arithmetic is tested without a GPU."
    )


class OperatorSourcesField(CodeSourcesField):
    required = True
    expected_file_extensions = (".cu",)
    expected_num_files = 1
    uses_source_roots = False
    help = "The CUDA source that registers the operators. Headers are found from its includes."


class InterfaceField(TextField):
    alias = "interface"
    required = True
    expected = "the name of the runtime that loads the library"
    help = "Who loads the library, such as `torch`. An engine refuses one for another runtime."


class OperatorLibraryTarget(Target):
    alias = "operator_library"
    core_fields = (
        *COMMON_TARGET_FIELDS,
        EnginewrightDependenciesField,
        EnvironmentField,
        OperatorSourcesField,
        InterfaceField,
        ComputeCapabilitiesField,
        CompilerFlagsField,
        IncludeDirsField,
        OutputPathField,
    )
    help = (
        "Kernels as operators of a runtime: one shared library with code for GPUs and for the "
        "processor, compiled by the locked nvcc. Engines load it whose target names it in "
        "`operators`."
    )
