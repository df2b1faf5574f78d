"""Both exporters against transformers on odd checkpoints: equal, or refused by name.

A small sample of what `many_checkpoints.py` runs by the hundred.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from differential.comparison import compare, text_of
from differential.odd_checkpoints import CLASSES, OddCheckpoint, odd_checkpoints

BASE: dict[str, Any] = {
    "model_type": "qwen2",
    "vocab_size": 50,
    "hidden_size": 24,
    "intermediate_size": 20,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "num_key_value_heads": 1,
    "max_position_embeddings": 24,
    "rms_norm_eps": 1e-6,
}
YARN = {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8}
NEW_YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8}
SLIDING = {"use_sliding_window": True, "sliding_window": 3}
ONE_SLIDES = ["full_attention", "sliding_attention"]


def odd(
    head: str = "config", names: str = "class", stored: str = "float32", **changes: Any
) -> OddCheckpoint:
    config = {**BASE, **changes}
    config["architectures"] = [CLASSES[config["model_type"]]]
    return OddCheckpoint(config, 5, head=head, names=names, stored=stored)


EQUAL = {
    "e1-stored-head-of-a-tied-config": odd(head="stored", tie_word_embeddings=True),
    "e1-head-without-embedding": odd(head="only", tie_word_embeddings=True),
    "e3-both-spellings-agree": odd(rope_scaling=YARN, rope_parameters=NEW_YARN, rope_theta=1e4),
    "e3-empty-scaling": odd(rope_scaling={}, rope_parameters=NEW_YARN),
    "original-length-beside": odd(
        rope_scaling={"type": "yarn", "factor": 4.0}, original_max_position_embeddings=8
    ),
    "e9-no-prefix": odd(names="base", tie_word_embeddings=True),
    "e9-some-with-a-prefix": odd(names="mixed"),
    "e12-mixed-dtypes": odd(stored="mixed", torch_dtype="float16"),
    "window-of-some-layers": odd(**SLIDING, max_window_layers=1),
    "window-that-the-config-leaves-out": odd(use_sliding_window=True, max_window_layers=0),
    "layer-types-over-numbers": odd(**SLIDING, layer_types=ONE_SLIDES, max_window_layers=0),
    "old-names-of-layer-types": odd(layer_types=["attention", "full_attention"]),
    "mistral-window": odd(model_type="mistral", sliding_window=3),
    "mistral-library-window": odd(model_type="mistral"),
    "e24-mistral-bias": odd(model_type="mistral", attention_bias=True, sliding_window=None),
    "llama-biases": odd(model_type="llama", attention_bias=True, mlp_bias=True),
    "qwen3-bias": odd(model_type="qwen3", attention_bias=True, head_dim=10),
    "qwen3-default-head": odd(model_type="qwen3"),
    "odd-eps": odd(rms_norm_eps=0.3),
    "null-of-another-family": odd(final_logit_softcapping=None),
}
REFUSED = {
    "e3-both-spellings": odd(rope_scaling=YARN, rope_parameters={"rope_type": "default"}),
    "e3-two-bases": odd(rope_theta=1e6, rope_parameters={"rope_theta": 1e4}),
    "two-types": odd(rope_scaling={"type": "linear", "rope_type": "yarn", "factor": 2.0}),
    "two-original-lengths": odd(rope_scaling=YARN, original_max_position_embeddings=16),
    "softcap": odd(final_logit_softcapping=30.0),
    "made-up": odd(made_up=1.5),
    "unknown-rope-field": odd(rope_parameters={"rope_type": "default", "mrope_section": [1, 1]}),
    "llama-window": odd(model_type="llama", sliding_window=3),
    "mistral-layer-types": odd(model_type="mistral", sliding_window=3, layer_types=ONE_SLIDES),
    "mistral-window-switched-off": odd(
        model_type="mistral", sliding_window=3, use_sliding_window=False
    ),
}


@pytest.mark.parametrize("name", EQUAL)
def test_row_e1_e3_e9_e12_the_direct_exporter_equals_transformers(
    name: str, tmp_path: Path
) -> None:
    outcome = compare(EQUAL[name], tmp_path / "a", "direct")
    assert outcome.kind == "equal", outcome.detail


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("exporter", ["direct", "torch"])
def test_row_e3_what_no_exporter_reads_is_refused(name: str, exporter: str, tmp_path: Path) -> None:
    outcome = compare(REFUSED[name], tmp_path / "a", exporter)
    assert outcome.kind in ("refused", "both"), outcome.detail


@pytest.mark.parametrize(
    "name",
    ["e1-stored-head-of-a-tied-config", "e1-head-without-embedding", "e9-some-with-a-prefix"],
)
def test_row_e1_e9_the_torch_exporter_equals_transformers(name: str, tmp_path: Path) -> None:
    outcome = compare(EQUAL[name], tmp_path / "a", "torch")
    assert outcome.kind == "equal", outcome.detail


def test_a_sample_of_odd_checkpoints() -> None:
    kinds: Counter[str] = Counter()

    @hypothesis.settings(
        max_examples=25,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(odd_checkpoints())
    def sample(drawn: OddCheckpoint) -> None:
        with tempfile.TemporaryDirectory() as folder:
            outcome = compare(drawn, Path(folder, "a"), "direct", with_past=drawn.seed % 2 == 1)
        kinds[outcome.kind] += 1
        assert not outcome.is_fault, f"{outcome.kind}: {outcome.detail}\n{text_of(drawn)}"

    sample()
    assert kinds["equal"] >= 5, kinds
