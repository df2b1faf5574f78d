"""Families are data: a new one is a file, and no other file names one."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import step_process
import torch
import transformers

import enginewright
from enginewright.checkpoint.library_defaults import library_fields
from enginewright.families.registry import architectures, exportable, families

LIBRARY = Path(enginewright.__file__).parent
NAMES = re.compile("qwen|llama|mistral|bert", re.IGNORECASE)
NOT_OF_A_FAMILY = {
    "llama3": "a rope type of transformers",
    "sentence_bert_config.json": "a file of sentence-transformers, whatever the model",
    "such as Qwen/Qwen3-0.6B": "an example of a repository",
}
OTHER_ROOMS = ("memory",)
"""Sizing knows what servers run, which is more than can be exported."""

MINISTRAL = """
kind = "decoder"
model_type = "ministral"
base = "MinistralModel"
window = "sliding_window"
layer_types = true

[tasks]
text-generation = "MinistralForCausalLM"
"""


def test_no_other_file_names_a_family() -> None:
    found = []
    for path in sorted(LIBRARY.rglob("*.py")):
        inside = path.relative_to(LIBRARY)
        if inside.parts[0] in OTHER_ROOMS:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            text = getattr(node, "id", getattr(node, "name", getattr(node, "attr", "")))
            if isinstance(node, ast.Constant) and id(node) not in docs:
                text = node.value
            if isinstance(text, str) and NAMES.search(text) and not _is_known(text):
                found.append(f"{inside}:{getattr(node, 'lineno', 0)}: {text[:60]}")
    assert found == []


def _is_known(text: str) -> bool:
    return any(known in text for known in NOT_OF_A_FAMILY)


def test_row_e11_one_list_a_task() -> None:
    assert exportable("text-generation") == (
        "LlamaForCausalLM",
        "MistralForCausalLM",
        "Qwen2ForCausalLM",
        "Qwen3ForCausalLM",
    )
    assert exportable("feature-extraction") == ("BertModel",)
    assert exportable("chat") == ()
    assert architectures()["Qwen3Model"].model_type == "qwen3"


def test_the_defaults_are_those_of_the_library() -> None:
    assert transformers.__version__ == "5.24.0"  # as library_defaults.toml says
    for model_type in families():
        kind = type(transformers.CONFIG_MAPPING[model_type]())
        for name, value in library_fields(model_type).items():
            assert getattr(kind, name, None) == value, f"{model_type}.{name}"


def run_step(library: Path, folder: Path, name: str, parameters: object, **roles: Path) -> Path:
    """The step with the library in `library`; returns its outputs."""
    inputs = {role: [path] for role, path in roles.items()}
    folder.mkdir()
    step_process.write_request(folder, name, inputs, parameters)
    others = [entry for entry in sys.path if Path(entry, "enginewright") != LIBRARY]
    ran = subprocess.run(
        [sys.executable, "-m", f"enginewright.actions.{name}"],
        cwd=folder,
        env={"PYTHONPATH": ":".join(str(Path(e).resolve()) for e in [str(library), *others])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return folder / "outputs"


def small_ministral(folder: Path) -> Any:
    """Windows in some layers, which Mistral has not."""
    torch.manual_seed(3)
    config = transformers.MinistralConfig(
        vocab_size=50,
        hidden_size=24,
        intermediate_size=20,
        num_hidden_layers=2,
        num_attention_heads=3,
        num_key_value_heads=1,
        head_dim=8,
        max_position_embeddings=24,
        sliding_window=3,
        layer_types=["sliding_attention", "full_attention"],
        attn_implementation="eager",
    )
    model = transformers.MinistralForCausalLM(config).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, 1.0 if parameter.dim() == 1 else 0.0, 0.3)
    model.save_pretrained(folder)
    return model


def test_a_new_family_is_one_file(tmp_path: Path) -> None:
    """Ministral, which transformers has and this library does not."""
    library, source = tmp_path / "library", tmp_path / "source"
    shutil.copytree(LIBRARY, library / "enginewright")
    (library / "enginewright" / "families" / "ministral.toml").write_text(MINISTRAL)
    model = small_ministral(source)
    weights = source / "model.safetensors"
    checked = run_step(
        library,
        tmp_path / "verify",
        "verify_checkpoint",
        {},
        config=source / "config.json",
        weights=weights,
    )
    made = run_step(
        library,
        tmp_path / "export",
        "export_direct",
        {"task": "text-generation", "opset": 23, "dtype": "float32", "logits": "all"},
        config=checked / "config.json",
        descriptor=checked / "checkpoint.json",
    )
    shutil.copy(weights, made / "model" / "model.safetensors")
    session = onnxruntime.InferenceSession(str(made / "model" / "model.onnx"))
    ids = np.random.default_rng(0).integers(0, 50, (2, 24)).astype(np.int64)
    with torch.inference_mode():
        right = model(input_ids=torch.from_numpy(ids)).logits.numpy()
    got = session.run(["logits"], {"input_ids": ids})[0]
    np.testing.assert_allclose(got, right, atol=1e-4 * float(np.abs(right).max()))
