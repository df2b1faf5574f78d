"""What a toolchain file must say."""

from __future__ import annotations

from typing import Any

import pytest
from pants.engine.addresses import Address
from pants.engine.target import InvalidFieldException
from pants_enginewright.environments.targets import LockField, ToolchainSourceField
from pants_enginewright.environments.toolchain import Toolchain, problems_of
from pants_enginewright.steps.files import File

COMPLETE: dict[str, Any] = {
    "product": "tensorrt-rtx",
    "version": "1.7.1.116",
    "cuda": "13.0",
    "environment": "lockfiles:tensorrt_rtx",
    "minimum_driver": "580.65.06",
    "compute_capabilities": ["8.6", "8.9"],
    "onnx": {"opset_min": 9, "opset_max": 24, "ir_max": 12},
    "libraries": {"libtensorrt_rtx.so.1": "0" * 64},
}


def test_a_complete_file_has_no_problem() -> None:
    assert list(problems_of(COMPLETE)) == []


def test_an_empty_file_lacks_everything() -> None:
    assert list(problems_of({})) == [
        "`product` is None; expected a string",
        "`version` is None; expected a string",
        "`cuda` is None; expected a string",
        "`environment` is None; expected a string",
        "`minimum_driver` is None; expected a string",
        "`compute_capabilities` is None; expected a list such as ['8.6']",
        "`[onnx]` is missing",
        "`[libraries]` is missing",
    ]


def test_numbers_are_no_versions_and_booleans_no_limits() -> None:
    wrong = {
        **COMPLETE,
        "cuda": 13.0,
        "compute_capabilities": [8.6],
        "onnx": {"opset_min": True, "opset_max": "24"},
    }
    assert list(problems_of(wrong)) == [
        "`cuda` is 13.0; expected a string",
        "`compute_capabilities` is [8.6]; expected a list such as ['8.6']",
        "`[onnx] opset_min` is True; expected an integer",
        "`[onnx] opset_max` is '24'; expected an integer",
        "`[onnx] ir_max` is None; expected an integer",
    ]


def test_the_builder_gets_nothing_that_only_others_read() -> None:
    source = File("rtx.toml", "0" * 64, 0)
    address = Address("toolchains", target_name="rtx")
    toolchain = Toolchain.of(address, source, COMPLETE)
    assert toolchain.builder() == {
        "product": "tensorrt-rtx",
        "version": "1.7.1.116",
        "libraries": {"libtensorrt_rtx.so.1": "0" * 64},
    }
    assert toolchain.compute_capabilities == ("8.6", "8.9")
    assert toolchain.environment == "lockfiles:tensorrt_rtx"


def test_a_file_that_a_goal_writes_names_the_goal() -> None:
    lock = LockField(None, Address("lockfiles", target_name="rtx"))
    with pytest.raises(InvalidFieldException) as caught:
        lock.validate_resolved_files([])
    assert str(caught.value) == (
        "lockfiles/rtx.txt, the `lock` of lockfiles:rtx, is not there. Write it with "
        "`./pants generate-lockfiles --resolve=lockfiles:rtx`"
    )
    lock.validate_resolved_files(["lockfiles/rtx.txt"])
    source = ToolchainSourceField("rtx.toml", Address("toolchains", target_name="rtx"))
    with pytest.raises(InvalidFieldException, match=r"`\./pants lock-toolchain toolchains:rtx`"):
        source.validate_resolved_files([])
