"""One odd checkpoint through the build's own steps, beside transformers in float32."""

from __future__ import annotations

import json
import shutil
import traceback
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import torch
import transformers
from differential.odd_checkpoints import OddCheckpoint, write_checkpoint
from numpy.typing import NDArray

from enginewright.actions import convert_weights, export_direct, export_onnx, verify_checkpoint
from enginewright.errors import InputError, Problem
from enginewright.hashing import FileDigest
from enginewright.step import ActionRequest, InputFile

TOLERANCE = 2e-4
"""Of the largest logit; what another order of float32 sums comes to is a tenth of it."""
SHORT = 5
PAST, PRESENT = "past_key_values.", "present."
Ids = NDArray[Any]


@dataclass(frozen=True)
class Outcome:
    kind: str
    """`equal`, `refused` (by us alone), `library` (by transformers alone), `both`, `different` or
    `crash`."""
    detail: str
    difference: float = 0.0

    @property
    def is_fault(self) -> bool:
        return self.kind in ("different", "crash")


def compare(odd: OddCheckpoint, folder: Path, exporter: str, with_past: bool = False) -> Outcome:
    """Write the checkpoint into `folder`, export it and run it; `folder` must not exist."""
    expected: list[tuple[Ids, Ids]] = []
    library = ""
    try:
        write_checkpoint(odd, folder)
        expected = _expected(_reference(folder), odd)
    except Exception as error:
        library = f"{type(error).__name__}: {error}"[:300]
    try:
        model = _export(folder, exporter, with_past)
    except InputError as error:
        unnamed = [problem for problem in error.problems if not problem.where]
        if unnamed:
            return Outcome("crash", f"refused without a place: {unnamed[0]}")
        return Outcome("refused" if expected else "both", _reason(error.problems[0]))
    except Exception:
        return Outcome("crash", traceback.format_exc()[-1500:])
    if not expected:
        return Outcome("library", library)
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    random = np.random.default_rng(odd.seed)
    differences = [
        float(np.abs(_logits(session, ids, calls) - right).max()) / float(np.abs(right).max())
        for ids, right in expected
        for calls in (_ways(ids.shape[1], random) if with_past else [[ids.shape[1]]])
    ]
    worst = max(differences)
    if not worst <= TOLERANCE:
        return Outcome("different", f"{differences} of the largest logit", worst)
    return Outcome("equal", "", worst)


def _expected(reference: torch.nn.Module, odd: OddCheckpoint) -> list[tuple[Ids, Ids]]:
    """Token ids and the logits of transformers, for a short text and one of the full length."""
    found = []
    for length in (SHORT, int(odd.config["max_position_embeddings"])):
        random = np.random.default_rng(odd.seed)
        ids = random.integers(0, odd.config["vocab_size"], (2, length)).astype(np.int64)
        with torch.inference_mode():
            right = reference(input_ids=torch.from_numpy(ids), use_cache=False).logits.numpy()
        if not np.isfinite(right).all():
            raise ValueError("logits are not finite")
        found.append((ids, right))
    return found


def _reason(problem: Problem) -> str:
    where = problem.where.rpartition(", ")[2]
    return f"{problem.what}: {where}" if "`" in where else problem.what


def _reference(folder: Path) -> torch.nn.Module:
    transformers.logging.set_verbosity(50)
    transformers.logging.disable_progress_bar()
    model, report = transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager", output_loading_info=True
    )
    odd = {kind: sorted(map(str, names)) for kind, names in report.items() if names}
    if odd:
        raise ValueError(f"the library's loading report: {odd}")
    return model.eval()


def _ways(length: int, random: np.random.Generator) -> list[list[int]]:
    """Tokens of each call with a cache: all at once; a prompt and its continuation, one by one; and
    chunks of any size."""
    prompt = int(random.integers(1, length))
    cuts = sorted({*random.integers(1, length, 3).tolist(), length})
    chunks = [end - begin for begin, end in zip([0, *cuts], cuts, strict=False)]
    return [[length], [prompt, *[1] * (length - prompt)], chunks]


def _logits(session: onnxruntime.InferenceSession, ids: Ids, calls: list[int]) -> Ids:
    """Of all tokens of `ids` [batch, tokens], given in calls of so many tokens."""
    names = [value.name for value in session.get_outputs()]
    held = {
        value.name: np.zeros((len(ids), value.shape[1], 0, value.shape[3]), np.float32)
        for value in session.get_inputs()
        if value.name.startswith(PAST)
    }
    found, begin = [], 0
    for size in calls:
        end = begin + size
        places = np.broadcast_to(np.arange(begin, end), (len(ids), size)).astype(np.int64)
        given = {
            "input_ids": ids[:, begin:end],
            "attention_mask": np.ones_like(ids[:, :end]),
            "position_ids": places,
        }
        wanted = {v.name for v in session.get_inputs()}
        feed = {name: value for name, value in given.items() if name in wanted}
        out = dict(zip(names, session.run(names, {**feed, **held}), strict=True))
        held = {name: out[name.replace(PAST, PRESENT)] for name in held}
        found.append(out["logits"])
        begin = end
    return np.concatenate(found, axis=1)


def _request(action: str, parameters: dict[str, object], **roles: list[Path]) -> ActionRequest:
    inputs = {
        role: tuple(InputFile(path, FileDigest.of(path)) for path in paths)
        for role, paths in roles.items()
    }
    return ActionRequest(action, inputs, parameters)


def _export(folder: Path, exporter: str, with_past: bool) -> Path:
    """As the rules do; the path of a graph with its weights beside it."""
    weights = sorted(folder.glob("*.safetensors"))
    index = sorted(folder.glob("*.index.json"))
    checked, made = folder / "checked", folder / "made"
    for path in (checked, made):
        path.mkdir()
    config = [folder / "config.json"]
    verify_checkpoint.run(
        _request("verify_checkpoint", {}, config=config, weights=[*weights, *index]), checked
    )
    config = [checked / "config.json"]
    parameters: dict[str, object] = {"task": "text-generation", "opset": 23, "dtype": "float32"}
    if exporter == "torch":
        export_onnx.run(_request("export_onnx", parameters, config=config, weights=weights), made)
        return made / "model" / "model.onnx"
    if with_past:
        parameters["task"] = "text-generation-with-past"
    descriptor = [checked / "checkpoint.json"]
    given = {**parameters, "logits": "all"}
    request = _request("export_direct", given, config=config, descriptor=descriptor)
    result = export_direct.run(request, made)
    record = json.loads((made / "onnx.json").read_text())
    source = folder
    if result["converted"]:
        source = folder / "converted"
        source.mkdir()
        given = {"dtype": "float32"}
        convert_weights.run(
            _request("convert_weights", given, weights=weights, descriptor=descriptor), source
        )
        source = source / "weights"
    for name in record["external_data"]:
        shutil.copy(source / name, made / "model" / name)
    return made / "model" / "model.onnx"


def text_of(odd: OddCheckpoint) -> str:
    """For a report: all that is needed to write it again."""
    return json.dumps(asdict(odd))
