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
    assert request.options.compute_capabilities == ("8.6",)
    assert request.options.optimization_level is None
    assert request.options.weight_streaming is False


def test_order_and_repetition_of_compute_capabilities_do_not_matter() -> None:
    request = decode(compute_capabilities=["12.0", "8.9", "8.6", "8.9"])
    assert request.options.compute_capabilities == ("8.6", "8.9", "12.0")


def test_every_option_is_decoded() -> None:
    options = decode(
        optimization_level=5,
        tiling_optimization_level="full",
        l2_limit_for_tiling=1024,
        weight_streaming=True,
        memory_pool_limits={"workspace": 4096},
        max_aux_streams=0,
        max_num_tactics=3,
        avg_timing_iterations=2,
        engine_capability="standard",
        runtime_platform="same_as_build",
        profiling_verbosity="detailed",
        builder_flags={"tf32": False, "strict_nans": True},
    ).options
    assert options.optimization_level == 5
    assert options.tiling_optimization_level == "full"
    assert options.l2_limit_for_tiling == 1024
    assert options.weight_streaming is True
    assert options.memory_pool_limits == {"workspace": 4096}
    assert options.max_aux_streams == 0
    assert options.builder_flags == {"strict_nans": True, "tf32": False}


def test_all_mistakes_are_reported_at_once_with_the_valid_values() -> None:
    assert problems_of(
        toolchain={"product": "tensorrt-xtr", "version": "1.7", "libraries": {"liba.so": "12"}},
        profiles=[{"batch": [4, 2, 8], "sequence": [1, 128]}],
        compute_capabilities=["sm86"],
        optimization_level=6,
        tiling_optimization_level="some",
        weight_streaming="yes",
        precision="fp16",
    ) == [
        (
            "precision",
            "one of avg_timing_iterations, builder_flags, compute_capabilities, engine_capability, "
            "l2_limit_for_tiling, max_aux_streams, max_num_tactics, memory_pool_limits, "
            "optimization_level, profiles, profiling_verbosity, runtime_platform, shape_values, "
            "tiling_optimization_level, toolchain, weight_streaming",
        ),
        ("toolchain.product", "tensorrt-rtx"),
        ("toolchain.version", "all four fields, as 1.7.1.116"),
        ("toolchain.libraries.liba.so", "64 lower-case hex digits"),
        ("profiles[0], axis `batch`", "minimum <= optimum <= maximum"),
        ("profiles[0], axis `sequence`", "minimum, optimum, maximum: integers, at least 0, 1, 1"),
        ("weight_streaming", "true or false"),
        ("compute_capabilities", 'major and minor, as "8.6", or "current"'),
        ("optimization_level", "an integer, 0 to 5"),
        ("tiling_optimization_level", "one of fast, full, moderate, none"),
    ]


@pytest.mark.parametrize(
    ("parameters", "where"),
    [
        ({"compute_capabilities": []}, "compute_capabilities"),
        ({"compute_capabilities": ["current", "8.6"]}, "compute_capabilities"),
        ({"memory_pool_limits": {"workspace": 0}}, "memory_pool_limits.workspace"),
        (
            {"memory_pool_limits": {"dla_local_dram": 1 << 20}},
            "memory_pool_limits.dla_local_dram",
        ),
        ({"builder_flags": {"fp16": True}}, "builder_flags.fp16"),
        ({"builder_flags": {"tf32": 1}}, "builder_flags.tf32"),
        ({"engine_capability": "safety"}, "engine_capability"),
        ({"runtime_platform": "windows_amd64"}, "runtime_platform"),
        ({"max_aux_streams": -1}, "max_aux_streams"),
        ({"profiles": {"batch": [1, 1, 1]}}, "profiles"),
        ({"profiles": [{"n": [1, 0, 1]}]}, "profiles[0], axis `n`"),
        ({"profiles": [{"n": [1, True, 1]}]}, "profiles[0], axis `n`"),
        ({"shape_values": [{"start": [[0], [1]]}]}, "shape_values[0], tensor `start`"),
        ({"shape_values": [{"start": [[2], [1], [3]]}]}, "shape_values[0], tensor `start`"),
        ({"shape_values": [{"start": [[0], [1, 1], [3]]}]}, "shape_values[0], tensor `start`"),
        ({"profiles": [{}, {}], "shape_values": [{}]}, "shape_values"),
    ],
)
def test_one_mistake_is_one_problem(parameters: dict[str, Any], where: str) -> None:
    assert [place for place, _ in problems_of(**parameters)] == [where]


def test_an_empty_cache_is_a_valid_minimum() -> None:
    assert decode(profiles=[{"past": [0, 64, 512]}]).profiles[0].axes == {"past": (0, 64, 512)}


def test_shape_values_belong_to_their_profile() -> None:
    request = decode(
        profiles=[{"n": [1, 2, 3]}, {"n": [4, 5, 6]}],
        shape_values=[{"end": [[1], [2], [3]]}, {"end": [[4], [5], [6]]}],
    )
    assert [profile.values["end"] for profile in request.profiles] == [
        ((1,), (2,), (3,)),
        ((4,), (5,), (6,)),
    ]
