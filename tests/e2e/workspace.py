"""A temporary repository with this repository's rules and library, and tiny models of its own.

The weights are drawn anew for each workspace, so that no cache knows a step of it, while tools and
wheels come out of the caches that the host has.
"""

import hashlib
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TREE = next(folder for folder in Path(__file__).parents if (folder / "pants.toml").is_file())
COPIED = ("pants", "pants.toml", "launcher", "lockfiles", "toolchains", "rules", "src")
TOKENIZER = ("tokenizer.json", "tokenizer_config.json")
TIMEOUT = 900

HIDDEN, INTERMEDIATE, HEADS, KV_HEADS, HEAD_DIM, VOCABULARY = 32, 64, 4, 2, 16, 1536

MODEL_BUILD = """\
model_checkpoint(
    name="checkpoint",
    config="config.json",
    weights=["model.safetensors"],
    tokenizer=["tokenizer.json", "tokenizer_config.json", "generation_config.json"],
)
onnx_model(
    name="fp16", checkpoint=":checkpoint", task="text-generation", dtype="float16", opset=23
)
onnx_model(
    name="cached",
    checkpoint=":checkpoint",
    task="text-generation-with-past",
    exporter="direct",
    dtype="float16",
    opset=23,
)
text_dataset(name="heldout", source="heldout.txt")
"""
OTHER_MODEL_BUILD = """\
model_checkpoint(
    name="checkpoint",
    config="config.json",
    weights=["model.safetensors"],
    tokenizer=["tokenizer.json", "tokenizer_config.json"],
)
onnx_model(
    name="fp16",
    checkpoint=":checkpoint",
    task="text-generation",
    exporter="direct",
    dtype="float16",
    opset=23,
)
"""
ENGINES_BUILD = """\
tensorrt_rtx_engine(
    name="tiny",
    model="models/tiny:fp16",
    toolchain="toolchains:rtx1.7_cu13.0",
    profiles=[{"batch": (1, 1, 4), "sequence": (1, 64, 256)}],
    compute_capabilities=["8.9"],
)
engine_test(
    name="tiny_accuracy",
    engine=":tiny",
    reference="models/tiny:checkpoint",
    dataset="models/tiny:heldout",
    min_cosine_similarity=0.99,
    reproducible=True,
)
tensorrt_rtx_engine(
    name="tiny_cached",
    model="models/tiny:cached",
    toolchain="toolchains:rtx1.7_cu13.0",
    profiles=[
        {
            "batch": (1, 1, 2),
            "sequence": (1, 1, 128),
            "past_sequence": (0, 31, 127),
            "total_sequence": (1, 32, 128),
        }
    ],
    compute_capabilities=["8.9"],
)
tensorrt_rtx_engine(
    name="other",
    model="models/other:fp16",
    toolchain="toolchains:rtx1.7_cu13.0",
    profiles=[{"batch": (1, 1, 4), "sequence": (1, 64, 256)}],
    compute_capabilities=["8.9", "12.0"],
)
"""


def tensor_shapes() -> dict[str, tuple[int, ...]]:
    """Names and shapes of a Qwen3 model with one layer and a tied output head."""
    layer = "model.layers.0."
    return {
        "model.embed_tokens.weight": (VOCABULARY, HIDDEN),
        f"{layer}input_layernorm.weight": (HIDDEN,),
        f"{layer}mlp.down_proj.weight": (HIDDEN, INTERMEDIATE),
        f"{layer}mlp.gate_proj.weight": (INTERMEDIATE, HIDDEN),
        f"{layer}mlp.up_proj.weight": (INTERMEDIATE, HIDDEN),
        f"{layer}post_attention_layernorm.weight": (HIDDEN,),
        f"{layer}self_attn.k_norm.weight": (HEAD_DIM,),
        f"{layer}self_attn.k_proj.weight": (KV_HEADS * HEAD_DIM, HIDDEN),
        f"{layer}self_attn.o_proj.weight": (HIDDEN, HEADS * HEAD_DIM),
        f"{layer}self_attn.q_norm.weight": (HEAD_DIM,),
        f"{layer}self_attn.q_proj.weight": (HEADS * HEAD_DIM, HIDDEN),
        f"{layer}self_attn.v_proj.weight": (KV_HEADS * HEAD_DIM, HIDDEN),
        "model.norm.weight": (HIDDEN,),
    }


def write_weights(path: Path, draw: random.Random) -> None:
    """A safetensors file of float32: norms are 1, all else is drawn."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    data = bytearray()
    for name, shape in tensor_shapes().items():
        count = shape[0] * (shape[1] if len(shape) == 2 else 1)
        values = [1.0 if len(shape) == 1 else draw.gauss(0.0, 0.1) for _ in range(count)]
        start = len(data)
        data += struct.pack(f"<{count}f", *values)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [start, len(data)]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def config(draw: random.Random) -> dict[str, Any]:
    """`config.json`; the drawn base of the rotary angles makes the graph itself a new one."""
    return {
        "architectures": ["Qwen3ForCausalLM"],
        "attention_bias": False,
        "dtype": "float32",
        "eos_token_id": 0,
        "head_dim": HEAD_DIM,
        "hidden_act": "silu",
        "hidden_size": HIDDEN,
        "intermediate_size": INTERMEDIATE,
        "max_position_embeddings": 1024,
        "model_type": "qwen3",
        "num_attention_heads": HEADS,
        "num_hidden_layers": 1,
        "num_key_value_heads": KV_HEADS,
        "pad_token_id": 0,
        "rms_norm_eps": 1e-6,
        "rope_parameters": {"rope_theta": draw.uniform(9e3, 11e3), "rope_type": "default"},
        "sliding_window": None,
        "tie_word_embeddings": True,
        "transformers_version": "5.24.0",
        "use_sliding_window": False,
        "vocab_size": VOCABULARY,
    }


def write_model(folder: Path, draw: random.Random, build: str) -> None:
    folder.mkdir(parents=True)
    for name in TOKENIZER:
        shutil.copyfile(TREE / "models" / "qwen3" / name, folder / name)
    settings = {"do_sample": False, "eos_token_id": 0}
    (folder / "generation_config.json").write_text(json.dumps(settings))
    (folder / "config.json").write_text(json.dumps(config(draw), indent=2) + "\n")
    write_weights(folder / "model.safetensors", draw)
    text = (TREE / "models" / "qwen3" / "heldout.txt").read_text(encoding="utf-8")
    (folder / "heldout.txt").write_text(text[:6000], encoding="utf-8")
    (folder / "BUILD").write_text(build)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@dataclass(frozen=True)
class Run:
    """What one run of Pants did."""

    exit_code: int
    output: str
    """Standard output and standard error."""
    sources: tuple[tuple[str, str], ...]
    """`action address`, and where its result came from; sorted."""
    packages: Mapping[str, str]
    """sha256 of each file under dist/engines."""

    @property
    def steps(self) -> list[str]:
        return [step for step, _ in self.sources]

    @property
    def ran(self) -> list[str]:
        return [step for step, source in self.sources if source == "ran here"]

    @property
    def reused(self) -> set[str]:
        """Where the results of the other steps came from."""
        return {source for _, source in self.sources} - {"ran here"}


@dataclass(frozen=True)
class Workspace:
    root: Path
    within: tuple[str, ...] = ()
    """Command that starts Pants, such as one that makes a sandbox; empty: none."""

    @classmethod
    def create(cls, root: Path) -> "Workspace":
        root.mkdir(parents=True)
        for name in COPIED:
            copy(TREE / name, root / name)
        draw = random.Random(os.urandom(16))
        write_model(root / "models" / "tiny", draw, MODEL_BUILD)
        write_model(root / "models" / "other", draw, OTHER_MODEL_BUILD)
        (root / "engines").mkdir()
        (root / "engines" / "BUILD").write_text(ENGINES_BUILD)
        (root / "README.md").write_text("A repository made by a test.\n")
        return cls(root)

    def copy_to(self, root: Path) -> "Workspace":
        root.mkdir(parents=True)
        for name in (*COPIED, "models", "engines", "README.md"):
            copy(self.root / name, root / name)
        return Workspace(root)

    def pants(
        self, *arguments: str, variables: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run `./pants`; `variables` are the whole environment, by default that of this process."""
        return subprocess.run(
            [*self.within, str(self.root / "pants"), *arguments],
            cwd=self.root,
            env=dict(os.environ if variables is None else variables),
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            timeout=TIMEOUT,
            check=False,
        )

    def build(self, *options: str, variables: Mapping[str, str] | None = None) -> Run:
        """Package all engines and test them, into an empty dist/."""
        return self.run(*options, "package", "test", "engines::", variables=variables)

    def run(self, *arguments: str, variables: Mapping[str, str] | None = None) -> Run:
        """Run goals, into an empty dist/, and read the build record."""
        record = self.root / "dist" / "record.json"
        shutil.rmtree(self.root / "dist", ignore_errors=True)
        record.parent.mkdir()
        done = self.pants(
            f"--enginewright-record={record}",
            *arguments,
            variables=variables,
        )
        steps = json.loads(record.read_text())["steps"] if record.is_file() else []
        return Run(
            done.returncode,
            done.stdout,
            tuple(sorted((f"{s['action']} {s['address']}", s["from"]) for s in steps)),
            {
                str(path.relative_to(self.root / "dist")): digest(path)
                for path in sorted((self.root / "dist" / "engines").rglob("*"))
                if path.is_file()
            },
        )

    @contextmanager
    def changed(self, *paths: str) -> Iterator[None]:
        """Put the named files back as they were, whatever happens to them meanwhile."""
        before = {path: self.content(path) for path in paths}
        try:
            yield
        finally:
            for path, content in before.items():
                if content is None:
                    (self.root / path).unlink()
                elif content != self.content(path):
                    (self.root / path).write_bytes(content)

    def content(self, path: str) -> bytes | None:
        """Bytes of a file; None where there is none."""
        file = self.root / path
        return file.read_bytes() if file.is_file() else None

    def stop(self) -> None:
        """End the daemon, and wait until it is gone."""
        for file in self.root.glob(".pids/*/pantsd/pid"):
            pid = int(file.read_text())
            try:
                os.kill(pid, signal.SIGTERM)
                for _ in range(100):
                    os.kill(pid, 0)
                    time.sleep(0.1)
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass


def copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy2(source, target)
