"""Embeddings of the build's own steps beside sentence-transformers, which is in no lock here.

pip install sentence-transformers==6.2.0
PYTHONPATH=src:tests/src python tests/src/differential/sentence_transformers_itself.py
"""

from __future__ import annotations

import contextlib
import io
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from differential import recipes


def compare(name: str, prompt_name: str | None, library: Any) -> float:
    """Greatest difference by the greatest number, of padded rows."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        checkpoint = folder / "checkpoint"
        with contextlib.redirect_stderr(io.StringIO()):
            recipes.save(recipes.RECIPES[name], checkpoint)
            graph = recipes.build(checkpoint, folder)
            model = library.SentenceTransformer(str(checkpoint), device="cpu")
        expected = model.encode([*recipes.LINES], prompt_name=prompt_name)
        prompt = "" if prompt_name is None else model.prompts[prompt_name]
        given = recipes.embed(graph, recipes.rows_of(checkpoint, prompt))
        return float(np.abs(given - expected).max() / np.abs(expected).max())


def main() -> None:
    import sentence_transformers  # type: ignore[import-not-found]

    print(f"sentence-transformers {sentence_transformers.__version__}")
    for name in recipes.RECIPES:
        for prompt_name in (None, "query"):
            difference = compare(name, prompt_name, sentence_transformers)
            verdict = "equal" if difference < 2e-5 else "DIFFERENT"
            print(f"{name:30} prompt {prompt_name or '-':6} {verdict} {difference:.1e}", flush=True)


if __name__ == "__main__":
    main()
