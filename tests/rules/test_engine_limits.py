"""Profiles and GPUs that an engine cannot have, and packages that would overwrite each other."""

from __future__ import annotations

from typing import Any

import pytest
from pants.engine.addresses import Address
from pants.engine.internals.parametrize import Parametrize
from pants.engine.target import InvalidTargetException
from pants_enginewright.build_files.build_file import problems_of
from pants_enginewright.engines.engine_limits import raise_if_too_long
from pants_enginewright.engines.profiles import ProfilesField
from pants_enginewright.models.origin import LengthLimit
from pants_enginewright.products.tensorrt_rtx.targets import TensorrtRtxEngineTarget
from pants_enginewright.steps.finished_package import raise_if_shared

HERE = Address("engines", target_name="small")
LIMIT = LengthLimit(512, "max_position_embeddings")


def engine(**fields: Any) -> TensorrtRtxEngineTarget:
    given = {"compute_capabilities": ["8.9"], **fields}
    return TensorrtRtxEngineTarget({"model": ":m", "toolchain": ":t", **given}, HERE)


def problems(**fields: Any) -> list[str]:
    start = f"`tensorrt_rtx_engine` target {HERE}: field "
    return [text[len(start) :] for text in problems_of(engine(**fields)) if text.startswith(start)]


def profile(sequence: Any, past: Any, total: Any) -> dict[str, Any]:
    return {"sequence": sequence, "past_sequence": past, "total_sequence": total}


@pytest.mark.parametrize(
    "sizes",
    [
        profile((1, 128, 512), (0, 1, 511), (1, 128, 512)),
        profile((1, 1, 1), (0, 255, 511), (1, 256, 512)),
        profile((1, 64, 512), (0, 1, 1), (1, 64, 512)),
        {"sequence": (1, 64, 512), "total_sequence": (1, 64, 256)},
    ],
)
def test_profiles_that_a_cache_can_have(sizes: dict[str, Any]) -> None:
    assert problems(profiles=[sizes]) == []


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        (
            profile((1, 128, 512), (0, 1, 255), (1, 128, 256)),
            [
                "`profiles`, profile 0, axis 'sequence' reaches 512; expected at most 256, the "
                "maximum of 'total_sequence', which counts 'past_sequence' and 'sequence' together"
            ],
        ),
        (
            profile((1, 1, 1), (0, 255, 512), (2, 256, 512)),
            [
                "`profiles`, profile 0, axis 'past_sequence' reaches 512; expected at most 511: "
                "with the minimum of 'sequence', 1, it must fit into the maximum of "
                "'total_sequence', 512",
                "`profiles`, profile 0, axis 'total_sequence' begins at 2; expected at most 1, the "
                "minima of 'past_sequence' and 'sequence' together",
            ],
        ),
    ],
)
def test_profiles_that_no_cache_fits(sizes: dict[str, Any], expected: list[str]) -> None:
    assert problems(profiles=[sizes]) == expected


def test_each_gpu_once_and_at_least_one() -> None:
    assert problems(compute_capabilities=["8.9", "12.0", "8.9"]) == [
        "`compute_capabilities` has value ['8.9', '12.0', '8.9']; expected each one once"
    ]
    (empty,) = problems(compute_capabilities=[])
    assert empty.startswith("`compute_capabilities` is empty; expected a list of compute")


def test_parametrize_with_one_alternative() -> None:
    assert problems(compute_capabilities=Parametrize(ada=["8.9"])) == [
        "`compute_capabilities` has `parametrize` with one alternative; write that alternative "
        "alone, or add another"
    ]


def test_profiles_within_the_positions_of_the_model() -> None:
    sizes = [{"batch": (1, 8, 1024), "sequence": (1, 64, 512)}]
    raise_if_too_long(ProfilesField(sizes, HERE), LIMIT)
    raise_if_too_long(ProfilesField([{"sequence": (1, 64, 4096)}], HERE), None)


def test_profiles_beyond_the_positions_are_all_named() -> None:
    profiles = ProfilesField(
        [{"sequence": (1, 64, 1024)}, profile((1, 1, 1), (0, 1, 511), (1, 2, 513))], HERE
    )
    assert profiles.is_valid()
    with pytest.raises(InvalidTargetException) as caught:
        raise_if_too_long(profiles, LIMIT)
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("engines:small: the model was made for at most 512 tokens")
    assert "config.json (max_position_embeddings)" in lines[0]
    assert [line.strip() for line in lines if "*" in line] == [
        "* field `profiles`, profile 0, axis 'sequence' reaches 1024",
        "* field `profiles`, profile 1, axis 'total_sequence' reaches 513",
    ]


def test_two_targets_that_write_one_path() -> None:
    other = Address("engines", target_name="other")
    raise_if_shared("engines/same", [HERE])
    with pytest.raises(InvalidTargetException) as caught:
        raise_if_shared("engines/same", [other, HERE])
    text = str(caught.value)
    assert text.startswith("2 targets write dist/engines/same:")
    assert text.index("engines:other") < text.index("engines:small")
