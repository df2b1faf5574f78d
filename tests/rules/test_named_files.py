"""What is said of a checkpoint's files that are not there."""

from __future__ import annotations

import pytest
from pants.engine.addresses import Address
from pants.engine.fs import Digest
from pants.engine.target import InvalidTargetException
from pants_enginewright.models.named_files import NamedFilesRequest, describe_missing, names_by_file
from pants_enginewright.steps.files import File, Files

HERE = Address("models/mine", target_name="checkpoint")
KIND = "model_checkpoint"


def request(*targets: str) -> NamedFilesRequest:
    return NamedFilesRequest(HERE, KIND, ("model.safetensors",), None, "", targets)


def test_all_files_that_are_not_there() -> None:
    names = ("config.json", "a.safetensors", "b.safetensors")
    config = Files(Digest("1" * 64, 10), (File("config.json", "a" * 64, 100),))
    wanted = NamedFilesRequest(HERE, KIND, names, None, "", ())
    assert wanted.missing(config) == ["a.safetensors", "b.safetensors"]
    assert NamedFilesRequest(HERE, KIND, names[:1], None, "", ()).missing(config) == []


def test_what_is_there_is_listed() -> None:
    there = ["models/mine/model-00001-of-00002.safetensors", "models/mine/config.json"]
    assert describe_missing(request(), ["model.safetensors"], there) == (
        "`model_checkpoint` target models/mine:checkpoint names files that are not in models/mine: "
        "model.safetensors. There are: config.json, model-00001-of-00002.safetensors. (What "
        ".gitignore names, Pants does not see.)"
    )


def test_pinned_files_come_from_targets() -> None:
    assert describe_missing(request(":config.json"), ["a", "b"], []) == (
        "`model_checkpoint` target models/mine:checkpoint names files that are not in the targets "
        "of its field `files`: a, b"
    )


def file(path: str) -> File:
    return File(path, "a" * 64, 1)


def test_row_e8_downloads_of_equal_names_are_refused() -> None:
    names = ("config.json", "1_Pooling/config.json")
    wanted = NamedFilesRequest(HERE, KIND, names, None, "", (":config",))
    with pytest.raises(InvalidTargetException, match="have the same name"):
        names_by_file(wanted)


def test_downloads_that_no_field_names_count_too() -> None:
    beside = ("generation_config.json", "*_Pooling/config.json")
    wanted = NamedFilesRequest(HERE, KIND, ("config.json",), None, "", (":config",), beside)
    assert names_by_file(wanted) == {
        "config.json": "config.json",
        "generation_config.json": "generation_config.json",
    }
