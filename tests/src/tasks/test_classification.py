"""Scores of classes as `run` prints them, and lines as they are read."""

from __future__ import annotations

import numpy as np
import tokenizers

from enginewright.tasks.classification.feed import Row, encode
from enginewright.tasks.classification.runner import scores_of
from enginewright.tasks.text_tokenizer import TextTokenizer


def test_one_label_is_a_score_and_several_are_probabilities() -> None:
    assert scores_of(np.array([0.0], np.float32), ["0"]) == {"score": 0.5, "logit": 0.0}
    logits = np.log(np.array([1, 3], np.float32))
    assert scores_of(logits, ["no", "yes"]) == {
        "label": "yes",
        "score": 0.75,
        "scores": {"no": 0.25, "yes": 0.75},
    }


def test_a_tab_makes_a_line_a_pair_whose_texts_have_types() -> None:
    model = tokenizers.models.WordLevel({"s": 0, "a": 1, "b": 2}, "s")
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="s $A", pair="s $A s $B:1", special_tokens=[("s", 0)]
    )
    read = TextTokenizer(tokenizer, "here")
    assert encode(read, "a b") == Row((0, 1, 2), (0, 0, 0))
    assert encode(read, "a\tb b") == Row((0, 1, 0, 2, 2), (0, 0, 0, 1, 1))
