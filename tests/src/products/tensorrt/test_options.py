from __future__ import annotations

from typing import Any

import pytest

from enginewright.errors import InputError
from enginewright.products.tensorrt.options import BuildRequest
from enginewright.products.tensorrt_rtx.variant import TENSORRT_RTX

TOOLCHAIN = {
    "product": "tensorrt-rtx",
    "version": "1.7.1.116",
    "libraries": {"libtensorrt_rtx.so.1": "0" * 64},
}


def decode(**parameters: Any) -> BuildRequest:
    return BuildRequest.decode(
        {"toolchain": TOOLCHAIN, "compute_capabilities": ["8.6"], **parameters}, TENSORRT_RTX
    )


def problems_of(**parameters: Any) -> list[tuple[str, str]]:
    with pytest.raises(InputError) as caught:
        decode(**parameters)
    return [(problem.where, problem.expected) for problem in caught.value.problems]


def test_only_toolchain_and_targets_are_needed() -> None:
    request = decode()
    assert request.profiles == ()
    assert request.compute_capabilities == ("8.6",)
    assert request.optimization_level is None
    assert request.weight_streaming is False


def test_order_and_repetition_of_compute_capabilities_do_not_matter() -> None:
    request = decode(compute_capabilities=["12.0", "8.9", "8.6", "8.9"])
    assert request.compute_capabilities == ("8.6", "8.9", "12.0")


def test_every_option_is_decoded() -> None:
    request = decode(
        optimization_level=5,
        tiling_optimization_level="full",
        weight_streaming=True,
        memory_pool_limits={"workspace": 4096},
        max_aux_streams=0,
    )
    assert request.weight_streaming is True
    assert request.options() == {
        "optimization_level": 5,
        "tiling_optimization_level": "full",
        "memory_pool_limits": {"workspace": 4096},
        "max_aux_streams": 0,
    }


def test_all_mistakes_are_reported_at_once_with_the_valid_values() -> None:
    axis = "a list of 3: an integer, at least 0; an integer, at least 1; an integer, at least 1"
    assert problems_of(
        toolchain={"product": "tensorrt-rtx", "version": "1.7", "libraries": {"liba.so": "12"}},
        profiles=[{"batch": [4, 2, 8], "sequence": [1, 128]}],
        compute_capabilities=["sm86"],
        optimization_level=6,
        tiling_optimization_level="some",
        weight_streaming="yes",
        precision="fp16",
    ) == [
        (
            "parameters",
            "one of toolchain, compute_capabilities, profiles, optimization_level, "
            "tiling_optimization_level, weight_streaming, memory_pool_limits, max_aux_streams",
        ),
        ("parameters, toolchain.version", "all four fields, as 1.7.1.116"),
        ('parameters, toolchain.libraries["liba.so"]', "64 lower-case hex digits"),
        ("parameters, compute_capabilities[0]", 'major and minor, as "8.6"'),
        ("parameters, profiles[0].batch", f"{axis}, minimum <= optimum <= maximum"),
        ("parameters, profiles[0].sequence", f"{axis}, minimum <= optimum <= maximum"),
        ("parameters, optimization_level", "an integer, 0 to 5 or null"),
        ("parameters, tiling_optimization_level", "one of none, fast, moderate, full or null"),
        ("parameters, weight_streaming", "true or false"),
    ]


@pytest.mark.parametrize(
    ("parameters", "where"),
    [
        ({"compute_capabilities": []}, "compute_capabilities"),
        ({"compute_capabilities": ["current"]}, "compute_capabilities[0]"),
        ({"memory_pool_limits": {"workspace": 0}}, "memory_pool_limits.workspace"),
        ({"memory_pool_limits": {"dla_local_dram": 1 << 20}}, "memory_pool_limits.dla_local_dram"),
        ({"max_aux_streams": -1}, "max_aux_streams"),
        ({"profiles": {"batch": [1, 1, 1]}}, "profiles"),
        ({"profiles": [{"n": [1, 0, 1]}]}, "profiles[0].n[1]"),
        ({"profiles": [{"n": [1, True, 1]}]}, "profiles[0].n[1]"),
        ({"toolchain": {**TOOLCHAIN, "product": "tensorrt-xtr"}}, "toolchain.product"),
        ({"toolchain": {**TOOLCHAIN, "libraries": {}}}, "toolchain.libraries"),
    ],
)
def test_one_mistake_is_one_problem(parameters: dict[str, Any], where: str) -> None:
    assert [place for place, _ in problems_of(**parameters)] == [f"parameters, {where}"]


def test_an_empty_cache_is_a_valid_minimum() -> None:
    assert decode(profiles=[{"past": [0, 64, 512]}]).profiles == ({"past": (0, 64, 512)},)
