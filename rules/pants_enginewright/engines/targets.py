"""Fields of engine targets, whatever their product."""

from __future__ import annotations

from pants.core.goals.package import OutputPathField

from pants_enginewright.build_files.base import COMMON_FIELDS
from pants_enginewright.build_files.fields import AddressField, AddressListField


class EngineOutputPathField(OutputPathField):
    """Where the package of an engine goes: what makes a target one of an engine to the goals."""


ENGINE_FIELDS = (*COMMON_FIELDS, EngineOutputPathField)
"""Those of every engine target."""


class ModelField(AddressField):
    alias = "model"
    required = True
    expected = "the address of an `onnx_model`, `onnx_file` or `quantized_model` target"
    help = "The model to build: an `onnx_model`, an `onnx_file` or a `quantized_model`."


class ToolchainField(AddressField):
    alias = "toolchain"
    required = True
    expected = "the address of a `toolchain` target"
    help = "The `toolchain` to build with."


class KernelsField(AddressListField):
    alias = "kernels"
    default = ()
    expected = "a list of addresses of `cuda_kernels` targets"
    help = (
        "Kernels that a server of your own launches before or after the plan, such as sampling. "
        "They ship in kernels/NAME/; the plan does not depend on them, and `./pants run` launches "
        "none of them."
    )


class OperatorsField(AddressField):
    alias = "operators"
    default = None
    expected = "the address of an `operator_library` target"
    help = (
        "The library with the kernels of the model's `plugins`, of this product's interface. It "
        "ships with the engine, which then needs it. Without one, the plugins' meaning takes their "
        "place; engine.json says which."
    )
