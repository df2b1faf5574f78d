"""One change at a time: exactly the steps that consume it run, all others come from a cache.

Each row of `MUTATIONS` changes one file of a small repository with three engines, and lists every
step that must run. Afterwards the change is undone: nothing runs, and the packages have their first
bytes again. All runs go through one warm daemon, as a user's would.
"""

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from workspace import Run, Workspace, digest

# Each of the three engines, by the steps between its checkpoint and its package.
VERIFY = ["verify_checkpoint models/tiny:checkpoint"]
EXPORT = ["export_onnx models/tiny:fp16"]
CHECK_GRAPH = ["check_graph models/tiny:fp16"]
CHECK_WEIGHTS = ["check_weights models/tiny:fp16"]
ESTIMATE = ["estimate_size engines:tiny"]
BUILD = ["build_engine engines:tiny", "build_engine engines:tiny"]  # Again for `reproducible`.
COMPARE = ["compare_builds engines:tiny"]
MANIFEST = ["write_manifest engines:tiny", "check_engine engines:tiny_accuracy"]
MEASURE = ["measure_accuracy engines:tiny_accuracy"]
JUDGE = ["judge_accuracy engines:tiny_accuracy"]

CACHED_EXPORT = ["export_direct models/tiny:cached"]
CACHED_CONVERT = ["convert_weights models/tiny:cached"]
CACHED_CHECK_GRAPH = ["check_graph models/tiny:cached"]
CACHED_CHECK_WEIGHTS = ["check_weights models/tiny:cached"]
CACHED_ESTIMATE = ["estimate_size engines:tiny_cached"]
CACHED_BUILD = ["build_engine engines:tiny_cached"]
CACHED_MANIFEST = ["write_manifest engines:tiny_cached"]

OTHER_VERIFY = ["verify_checkpoint models/other:checkpoint"]
OTHER_EXPORT = ["export_direct models/other:fp16"]
OTHER_CONVERT = ["convert_weights models/other:fp16"]
OTHER_CHECK_GRAPH = ["check_graph models/other:fp16"]
OTHER_CHECK_WEIGHTS = ["check_weights models/other:fp16"]
OTHER_ESTIMATE = ["estimate_size engines:other"]
OTHER_BUILD = ["build_engine engines:other"]
OTHER_MANIFEST = ["write_manifest engines:other"]

# What a package says of its build, by the steps of that build.
PROVENANCE = {
    "write_provenance engines:tiny": {
        *(VERIFY + EXPORT + CHECK_GRAPH + CHECK_WEIGHTS + ESTIMATE + BUILD + MANIFEST[:1])
    },
    "write_provenance engines:tiny_cached": {
        *(VERIFY + CACHED_EXPORT + CACHED_CONVERT + CACHED_CHECK_GRAPH + CACHED_CHECK_WEIGHTS),
        *(CACHED_ESTIMATE + CACHED_BUILD + CACHED_MANIFEST),
    },
    "write_provenance engines:other": {
        *(OTHER_VERIFY + OTHER_EXPORT + OTHER_CONVERT + OTHER_CHECK_GRAPH + OTHER_CHECK_WEIGHTS),
        *(OTHER_ESTIMATE + OTHER_BUILD + OTHER_MANIFEST),
    },
}

ENGINE = [*CHECK_GRAPH, *CHECK_WEIGHTS, *BUILD, *COMPARE, *MANIFEST]
CACHED_ENGINE = [*CACHED_CHECK_WEIGHTS, *CACHED_BUILD, *CACHED_MANIFEST]
ALL_MANIFESTS = [*MANIFEST, *CACHED_MANIFEST, *OTHER_MANIFEST]
ALL = sorted(
    [
        *(VERIFY + EXPORT + ENGINE + ESTIMATE + MEASURE + JUDGE),
        *(CACHED_EXPORT + CACHED_CONVERT + CACHED_CHECK_GRAPH + CACHED_ENGINE + CACHED_ESTIMATE),
        *(OTHER_VERIFY + OTHER_EXPORT + OTHER_CONVERT + OTHER_CHECK_GRAPH),
        *(OTHER_CHECK_WEIGHTS + OTHER_BUILD + OTHER_ESTIMATE + OTHER_MANIFEST),
        *PROVENANCE,
    ]
)


def with_provenance(runs: list[str]) -> list[str]:
    """A step that ran has another key, which the provenance of its package names."""
    told = (name for name, steps in PROVENANCE.items() if name not in runs and steps & {*runs})
    return sorted([*runs, *told])


Edit = Callable[[bytes], bytes]


def replace(old: str, new: str) -> Edit:
    """Replace the first occurrence of a text that must be there."""

    def edit(content: bytes) -> bytes:
        assert old.encode() in content, old
        return content.replace(old.encode(), new.encode(), 1)

    return edit


def append(text: str) -> Edit:
    return lambda content: content + text.encode()


def flip(place: int) -> Edit:
    """Flip the lowest bit of the byte at `place`, counted from the end."""

    def edit(content: bytes) -> bytes:
        changed = bytearray(content)
        changed[-place] ^= 1
        return bytes(changed)

    return edit


def reordered(content: bytes) -> bytes:
    """The same targets, the last one first."""
    first, last = re.split(rb"(?m)^(?=onnx_model)", content)
    return last + first


@dataclass(frozen=True)
class Mutation:
    name: str
    path: str
    edit: Edit
    runs: list[str]
    """Every step that must run, but those of the provenance that follow from the others; no other
    step must."""
    explained: tuple[str, ...] = ()
    """What `explain` says has changed; nothing else may be said."""


LIBRARY = "src/enginewright"
COMMENT = append("\n# A comment.\n")
TOOLCHAIN = "toolchains/rtx1.7_cu13.0.toml"

MUTATIONS = [
    # The checkpoint. Its last tensor is the final norm, 32 float32 ones, little-endian 00 00 80 3f;
    # the one before is a matrix, whose values lie beside the graph and not in it.
    Mutation(
        "a byte of the weights",
        "models/tiny/model.safetensors",
        flip(128 + 2),
        [
            *(VERIFY + EXPORT + CHECK_WEIGHTS + BUILD + COMPARE + MANIFEST + MEASURE + JUDGE),
            *(CACHED_CONVERT + CACHED_ENGINE),
        ],
        (
            "weights: model.safetensors (1 of 13 tensors changed: "
            "model.layers.0.self_attn.v_proj.weight)",
        ),
    ),
    Mutation(
        "a byte of the weights that float16 rounds away",
        "models/tiny/model.safetensors",
        flip(4),
        [*(VERIFY + EXPORT + MANIFEST + MEASURE + JUDGE), *(CACHED_CONVERT + CACHED_MANIFEST)],
        ("weights: model.safetensors (1 of 13 tensors changed: model.norm.weight)",),
    ),
    Mutation(
        "a config field that matters",
        "models/tiny/config.json",
        replace('"rms_norm_eps": 1e-06', '"rms_norm_eps": 1e-05'),
        [
            *(VERIFY + EXPORT + ENGINE + ESTIMATE + MEASURE + JUDGE),
            *(CACHED_EXPORT + CACHED_CHECK_GRAPH + CACHED_ENGINE + CACHED_ESTIMATE),
        ],
        ("config: config.json (rms_norm_eps 1e-06 -> 1e-05)",),
    ),
    Mutation(
        "a config field that does not matter",
        "models/tiny/config.json",
        replace('"transformers_version": "5.24.0"', '"transformers_version": "5.0.0"'),
        [*VERIFY, *MANIFEST, *CACHED_MANIFEST],
        ("config: config.json (transformers_version 5.24.0 -> 5.0.0)",),
    ),
    Mutation(
        "white space in a config",
        "models/tiny/config.json",
        replace("{\n", "{\n\n"),
        [*VERIFY, *MANIFEST, *CACHED_MANIFEST],
        ("config: config.json (white space or order, no value)",),
    ),
    Mutation(
        "a field of the tokenizer's config",
        "models/tiny/tokenizer_config.json",
        replace('"model_max_length": 1024', '"model_max_length": 1000'),
        [*VERIFY, *MANIFEST, *CACHED_MANIFEST],
        ("tokenizer: tokenizer_config.json (model_max_length 1024 -> 1000)",),
    ),
    Mutation(
        "a setting of the generation",
        "models/tiny/generation_config.json",
        replace('"do_sample": false', '"do_sample": true'),
        [*VERIFY, *MANIFEST, *CACHED_MANIFEST],
        ("tokenizer: generation_config.json (do_sample False -> True)",),
    ),
    Mutation("the mtime of the weights", "models/tiny/model.safetensors", lambda c: c, []),
    # The export.
    Mutation(
        "the opset",
        "models/tiny/BUILD",
        replace("opset=23", "opset=22"),
        [*EXPORT, *ENGINE, *MEASURE, *JUDGE],
        ("opset 23 -> 22 (models/tiny/BUILD:8)",),
    ),
    Mutation(
        "the dtype",
        "models/tiny/BUILD",
        replace('dtype="float16"', 'dtype="float32"'),
        [*EXPORT, *ENGINE, *ESTIMATE, *MEASURE, *JUDGE],
        ("dtype float16 -> float32 (models/tiny/BUILD:8)",),
    ),
    Mutation(
        "the code of the exporter",
        f"{LIBRARY}/exporters/torch/export.py",
        COMMENT,
        EXPORT,
        ("library enginewright/exporters/torch/export.py",),
    ),
    Mutation(
        "the code of the direct exporter",
        f"{LIBRARY}/exporters/direct/decoder_graph.py",
        COMMENT,
        [*CACHED_EXPORT, *OTHER_EXPORT],
        ("library enginewright/exporters/direct/decoder_graph.py",),
    ),
    Mutation(
        "the code of a graph check",
        f"{LIBRARY}/checks/half_norms.py",
        COMMENT,
        [*CHECK_GRAPH, *CACHED_CHECK_GRAPH, *OTHER_CHECK_GRAPH],
        ("library enginewright/checks/half_norms.py",),
    ),
    # The engines.
    Mutation(
        "the greatest size of a profile's axis",
        "engines/BUILD",
        replace("(1, 64, 256)", "(1, 64, 512)"),
        # Longer rows are measured.
        [*ESTIMATE, *BUILD, *COMPARE, *MANIFEST, *MEASURE, *JUDGE],
        ("profiles[0].sequence max 256 -> 512 (engines/BUILD:5)",),
    ),
    Mutation(
        "the greatest size of an axis of the engine with a cache",
        "engines/BUILD",
        replace('"batch": (1, 1, 2)', '"batch": (1, 1, 3)'),
        [*CACHED_ESTIMATE, *CACHED_BUILD, *CACHED_MANIFEST],
        ("profiles[0].batch max 2 -> 3 (engines/BUILD:22)",),
    ),
    Mutation(
        "the compute capability",
        "engines/BUILD",
        replace('["8.9", "12.0"]', '["8.6", "12.0"]'),
        [*OTHER_BUILD, *OTHER_MANIFEST],
        ("compute_capabilities[0] 8.9 -> 8.6 (engines/BUILD:35)",),
    ),
    Mutation(
        "the order of the compute capabilities",
        "engines/BUILD",
        replace('["8.9", "12.0"]', '["12.0", "8.9"]'),
        # The provenance has the fields as they were written.
        ["write_provenance engines:other"],
    ),
    Mutation(
        "a field set to the product's own default",
        "engines/BUILD",
        replace(
            'name="other",', 'name="other",\n    optimization_level=3,\n    tiling_level="none",'
        ),
        ["write_provenance engines:other"],
    ),
    Mutation(
        "the code of the builder",
        f"{LIBRARY}/products/tensorrt/builder.py",
        COMMENT,
        [*BUILD, *CACHED_BUILD, *OTHER_BUILD],
        ("library enginewright/products/tensorrt/builder.py",),
    ),
    Mutation(
        "the code of the manifest's check",
        f"{LIBRARY}/actions/check_engine.py",
        COMMENT,
        ["check_engine engines:tiny_accuracy"],
        ("library enginewright/actions/check_engine.py",),
    ),
    # Validation.
    Mutation(
        "the code of the measurement",
        f"{LIBRARY}/validation/comparison.py",
        COMMENT,
        MEASURE,
        ("library enginewright/validation/comparison.py",),
    ),
    Mutation(
        "the code of the judgement",
        f"{LIBRARY}/validation/judgement.py",
        COMMENT,
        JUDGE,
        ("library enginewright/validation/judgement.py",),
    ),
    Mutation(
        "a threshold",
        "engines/BUILD",
        replace("min_cosine_similarity=0.99", "min_cosine_similarity=0.98"),
        JUDGE,
        ("min_cosine_similarity 0.99 -> 0.98 (engines/BUILD:13)",),
    ),
    Mutation(
        "the held-out text",
        "models/tiny/heldout.txt",
        lambda content: content[200:],
        [*MEASURE, *JUDGE],
        ("dataset: dataset.txt",),
    ),
    # Provenance.
    Mutation(
        "the code of the bill of materials",
        f"{LIBRARY}/provenance/bom.py",
        COMMENT,
        sorted(PROVENANCE),
    ),
    Mutation(
        "a description",
        "engines/BUILD",
        replace('name="other",', 'name="other",\n    description="An engine.",'),
        [],
    ),
    # Toolchains and locks.
    Mutation(
        "a comment in the toolchain",
        TOOLCHAIN,
        append("# A comment.\n"),
        ALL_MANIFESTS,
        ("toolchains/rtx1.7_cu13.0.toml",),
    ),
    Mutation(
        "an ONNX limit of the toolchain",
        TOOLCHAIN,
        replace("opset_max = 25", "opset_max = 26"),
        [*CHECK_GRAPH, *CACHED_CHECK_GRAPH, *OTHER_CHECK_GRAPH, *ALL_MANIFESTS],
        ("reader.opset_max 25 -> 26", "toolchains/rtx1.7_cu13.0.toml"),
    ),
    Mutation("the lock of another tool", "lockfiles/minilm.txt", append("# A comment.\n"), []),
    Mutation("the lock of the unit tests", "lockfiles/tests.txt", append("# A comment.\n"), []),
    Mutation(
        "one more hash in the lock of a tool in use",
        "lockfiles/onnx.txt",
        replace(" \\\n    --hash=", f" \\\n    --hash=sha256:{'0' * 64} \\\n    --hash="),
        [],
    ),
    # What no step consumes.
    Mutation("a library module nobody imports", f"{LIBRARY}/doctor/report.py", COMMENT, []),
    Mutation("a comment in a BUILD file", "engines/BUILD", COMMENT, []),
    Mutation("the order of a BUILD file", "models/other/BUILD", reordered, []),
    Mutation("the README", "README.md", append("More.\n"), []),
    Mutation(
        "a comment in a rule",
        "rules/pants_enginewright/validation/validation.py",
        COMMENT,
        [],
    ),
]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    created = Workspace.create(tmp_path_factory.mktemp("exactness") / "repository")
    yield created
    created.stop()


@pytest.fixture(scope="module")
def first(workspace: Workspace) -> Run:
    """The first run: nothing of it was ever built."""
    run = workspace.build()
    assert run.exit_code == 0, run.output
    assert run.steps == ALL
    assert run.ran == ALL
    assert sorted(name for name in run.packages if name.endswith(".plan")) == [
        "engines/other/engine.plan",
        "engines/tiny/engine.plan",
        "engines/tiny_cached/engine.plan",
    ]
    return run


def changes_told(output: str) -> tuple[str, ...]:
    """What `explain` says has changed in this run."""
    if "\nNothing changed" in output:
        return ()
    _, _, told = output.partition("\nChanged:\n")
    lines = told.splitlines()
    count = next(n for n, line in enumerate(lines) if not line.startswith("  "))
    return tuple(line.strip() for line in lines[:count])


def assert_nothing_ran(run: Run, first: Run) -> None:
    assert run.exit_code == 0, run.output
    assert run.steps == ALL
    assert run.ran == []
    assert run.reused <= {"memory", "local cache"}
    assert run.packages == first.packages


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_change_runs_exactly_its_steps(
    mutation: Mutation, workspace: Workspace, first: Run
) -> None:
    with workspace.changed(mutation.path):
        path = workspace.root / mutation.path
        path.write_bytes(mutation.edit(path.read_bytes()))
        changed = workspace.run("explain", "package", "test", "engines::")
    undone = workspace.build()
    assert changed.exit_code == 0, changed.output
    assert changed.steps == ALL
    assert changed.ran == with_provenance(mutation.runs)
    assert changes_told(changed.output) == mutation.explained
    assert changed.reused <= {"memory", "local cache"}
    assert_nothing_ran(undone, first)


def test_weights_that_may_be_executed_run_nothing(workspace: Workspace, first: Run) -> None:
    weights = workspace.root / "models/tiny/model.safetensors"
    weights.chmod(0o755)
    try:
        assert_nothing_ran(workspace.build(), first)
    finally:
        weights.chmod(0o644)


def test_a_library_with_another_hash_is_refused(workspace: Workspace, first: Run) -> None:
    expected = "a74fa3974f1892b65a53b06a14ffcb15758ac51c12135ada84490f53f67e1051"
    wrong = "0" * 64
    with workspace.changed(TOOLCHAIN):
        path = workspace.root / TOOLCHAIN
        path.write_bytes(replace(expected, wrong)(path.read_bytes()))
        changed = workspace.build()
    assert changed.exit_code == 1
    assert changed.packages == {}
    for part in ("libtensorrt_rtx.so.1", wrong, expected):
        assert part in changed.output
    assert "Traceback" not in changed.output
    assert_nothing_ran(workspace.build(), first)


def test_another_version_than_the_toolchain_says_is_refused(
    workspace: Workspace, first: Run
) -> None:
    with workspace.changed(TOOLCHAIN):
        path = workspace.root / TOOLCHAIN
        path.write_bytes(replace('"1.7.1.116"', '"1.7.1.115"')(path.read_bytes()))
        changed = workspace.build()
    assert changed.exit_code == 1
    assert changed.packages == {}
    assert "1.7.1.116" in changed.output
    assert "1.7.1.115" in changed.output
    assert "Traceback" not in changed.output
    assert_nothing_ran(workspace.build(), first)


def test_a_new_library_module_runs_nothing(workspace: Workspace, first: Run) -> None:
    with workspace.changed("src/enginewright/engines/unused.py"):
        (workspace.root / "src/enginewright/engines/unused.py").write_text('"""Unused."""\n')
        assert_nothing_ran(workspace.build(), first)


def test_another_environment_runs_nothing(workspace: Workspace, first: Run, tmp_path: Path) -> None:
    home = Path(os.environ.get("HOME", tmp_path))
    variables = {
        **os.environ,
        "HOME": str(tmp_path),
        # Where the results and the Pythons are, as an administrator would tell.
        "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(home / ".cache")),
        "PYENV_ROOT": os.environ.get("PYENV_ROOT", str(home / ".pyenv")),
        "USER": "somebody",
        "LOGNAME": "somebody",
        "LANG": "C",
        "TZ": "Asia/Tokyo",
        "PATH": f"{tmp_path}:/usr/local/bin:/usr/bin:/bin",
        "PYTHONHASHSEED": "7",
        "OMP_NUM_THREADS": "1",
        "CUDA_VISIBLE_DEVICES": "",
    }
    assert_nothing_ran(workspace.build(variables=variables), first)


def test_the_checkout_at_another_path_runs_nothing(
    workspace: Workspace, first: Run, tmp_path: Path
) -> None:
    copied = workspace.copy_to(tmp_path / "a folder" / "elsewhere")
    run = copied.build("--no-pantsd")
    assert_nothing_ran(run, first)
    assert run.reused == {"local cache"}
    assert (
        digest(copied.root / "dist/engines/tiny/engine.plan")
        == (first.packages["engines/tiny/engine.plan"])
    )
