"""Read the declarations of kernels from CUDA source.

PTX has the kernels and the widths of their parameters, but neither names nor what a pointer points
to. Those stand in the source, in the form that this project writes:

    extern "C" __global__ void __launch_bounds__(1024) name(const Float16* x, int64_t rows, float e)
"""

from __future__ import annotations

import re

from enginewright.kernels.descriptor import Parameter, Pointer, Value

ELEMENT_TYPES = {
    "Float16": "float16",
    "__half": "float16",
    "BFloat16": "bfloat16",
    "__nv_bfloat16": "bfloat16",
    "float": "float32",
    "double": "float64",
    "int8_t": "int8",
    "uint8_t": "uint8",
    "int32_t": "int32",
    "uint32_t": "uint32",
    "int64_t": "int64",
    "uint64_t": "uint64",
    "int": "int32",
}
"""C++ spelling to the name of the type in a descriptor."""

_KERNEL = re.compile(
    r'extern\s+"C"\s+__global__\s+void\s+(?:__launch_bounds__\s*\([^()]*\)\s*)?'
    r"(?P<name>[A-Za-z_]\w*)\s*\((?P<parameters>[^()]*)\)"
)
_PARAMETER = re.compile(
    r"(?P<const>const\s+)?(?:\w+::)*(?P<type>\w+)\s*(?P<pointer>\*)?\s*(?:__restrict__\s+)?"
    r"(?P<name>\w+)"
)


def kernel_declarations(text: str) -> dict[str, tuple[Parameter, ...]]:
    """Kernels of a source by name; one in a form that cannot be read is left out."""
    found = {}
    for match in _KERNEL.finditer(re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)):
        written = [part.strip() for part in match["parameters"].split(",") if part.strip()]
        parameters = [_parameter(part) for part in written]
        known = tuple(parameter for parameter in parameters if parameter is not None)
        if len(known) == len(parameters):
            found[match["name"]] = known
    return found


def _parameter(text: str) -> Parameter | None:
    match = _PARAMETER.fullmatch(text)
    if not match or match["type"] not in ELEMENT_TYPES:
        return None
    element = ELEMENT_TYPES[match["type"]]
    if match["pointer"]:
        return Pointer(match["name"], element, writable=not match["const"])
    return Value(match["name"], element)
