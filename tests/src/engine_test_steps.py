"""An engine test on a graph in the place of an engine, in this process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
from step_process import write_request

from enginewright.actions import judge_accuracy, measure_accuracy
from enginewright.step import Step, run_step

FLOAT32 = {"min_cosine_similarity": 0.9999, "max_relative_error": 0.0001}
"""What a float32 engine can promise."""
VOCABULARY = 40
TOKENS = np.random.default_rng(5).integers(3, VOCABULARY, 600)
COSINE, ERROR = "`mean_cosine_similarity` missed its bound", "`max_relative_error` missed its bound"


def step(action: Step, folder: Path, inputs: dict[str, list[Path]], parameters: object) -> int:
    folder.mkdir(exist_ok=True)
    return run_step(action, write_request(folder, "x", inputs, parameters), folder / "outputs")


def save_tokenizer(folder: Path) -> None:
    vocabulary = {f"w{number}": number for number in range(VOCABULARY)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="w0"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))


def engine_test(
    model: Path, reference: Path, folder: Path, task: str, bounds: dict[str, float], *others: str
) -> int:
    """As an `engine_test` does, with the model in the place of the engine."""
    inputs = {
        "model": sorted(path for path in model.parent.iterdir() if path.suffix != ".json"),
        "config": [reference / "config.json"],
        "weights": [reference / "model.safetensors"],
        "tokenizer": [reference / name for name in ("tokenizer.json", *others)],
        "serving": [reference / "tokenizer.json"],
        "dataset": [reference / "heldout.txt"],
    }
    positions = json.loads((reference / "config.json").read_text())["max_position_embeddings"]
    parameters = {"task": task, "positions": positions}
    code = step(measure_accuracy.run, folder / "measure", inputs, parameters)
    if code:
        return code
    measured = {"measurements": [folder / "measure" / "outputs" / "measurements.json"]}
    return step(judge_accuracy.run, folder / "judge", measured, bounds)


def documented_rows() -> list[str]:
    """The table of faults in docs/validation.md: fault, and what the report says."""
    parents = Path(__file__).resolve().parents
    root = next(folder for folder in parents if (folder / "docs" / "validation.md").is_file())
    text = (root / "docs" / "validation.md").read_text(encoding="utf-8")
    table = text.split("## Faults that it was tried on")[1]
    return [line for line in table.splitlines() if line.startswith("| ")]


def report_of(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "judge" / "outputs" / "report.json").read_text()))
