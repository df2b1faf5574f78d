"""What is said of a checkpoint's files that are not there."""

from __future__ import annotations

from pants.engine.addresses import Address
from pants.engine.fs import Digest
from pants_enginewright.models.checkpoint import CheckpointFilesRequest, describe_missing
from pants_enginewright.steps.files import File, Files

HERE = Address("models/mine", target_name="checkpoint")


def request(*targets: str) -> CheckpointFilesRequest:
    return CheckpointFilesRequest(HERE, ("model.safetensors",), None, "", targets)


def test_all_files_that_are_not_there() -> None:
    names = ("config.json", "a.safetensors", "b.safetensors")
    config = Files(Digest("1" * 64, 10), (File("config.json", "a" * 64, 100),))
    wanted = CheckpointFilesRequest(HERE, names, None, "", ())
    assert wanted.missing(config) == ["a.safetensors", "b.safetensors"]
    assert CheckpointFilesRequest(HERE, names[:1], None, "", ()).missing(config) == []


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
