"""A build as the rules tell of it, for the tests of what is said of packages."""

from __future__ import annotations

from enginewright.hashing import FileDigest
from enginewright.provenance.build import Build, Environment, Input, Step, Target
from enginewright.provenance.wheel import Licence, Wheel


def digest(letter: str, size: int) -> FileDigest:
    return FileDigest(letter * 64, size)


WHEELS = (
    Wheel(
        "Foo_Bar",
        "1.0+cpu",
        "foo_bar-1.0+cpu-py3-none-any.whl",
        Licence("MIT OR Apache-2.0"),
        digest("1", 11),
    ),
    Wheel(
        "named",
        "2.0",
        "named-2.0-py3-none-any.whl",
        Licence(None, ("BSD License", "3-Clause BSD")),
        digest("2", 12),
    ),
    Wheel("silent", "3.0", "silent-3.0-py3-none-any.whl", Licence(None), digest("3", 13)),
    Wheel("own", "4.0", "own-4.0-py3-none-any.whl", Licence("LicenseRef-Own"), digest("4", 14)),
)
BUILD = Build(
    target="engines:small",
    kind="machine-learning-model",
    targets={
        "engines:small": Target("onnxruntime_engine", {"model": "models/small:fp32"}),
        "models/small:fp32": Target("onnx_model", {"opset": 23, "plugins": []}),
    },
    files={"engine.json": digest("a", 100), "model.onnx": digest("b", 200)},
    inputs=(
        Input("weights", "models/small:checkpoint", "model.safetensors", digest("c", 300)),
        Input("tokenizer", "models/small:checkpoint", "tokenizer.json", digest("d", 400)),
        Input("dataset", "models/small:int8", "calibration.txt", digest("e", 500)),
        Input("toolchain", "toolchains:one", "toolchains/one.toml", digest("f", 600)),
    ),
    steps=(
        Step("export_onnx", "models/small:fp32", "5" * 64, "6" * 64, "lockfiles:export", "3.11.7"),
        Step("write_manifest", "engines:small", "7" * 64, "8" * 64, None, "3.11.7"),
    ),
    environments=(Environment("lockfiles:export", WHEELS), Environment("other", WHEELS[:1])),
    host_compiler="12.2.0",
)
