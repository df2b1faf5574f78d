from __future__ import annotations

from pathlib import Path

import pytest
import tokenizers

from enginewright.errors import InputError
from enginewright.validation.text_tokenizer import TextTokenizer


@pytest.fixture
def path(tmp_path: Path) -> Path:
    vocabulary = {"[PAD]": 0, "[CLS]": 1, "[SEP]": 2, "a": 3, "b": 4}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[PAD]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    # Settings of somebody's serving, which must not change what is measured.
    tokenizer.enable_padding(length=9)
    tokenizer.enable_truncation(4)
    target = tmp_path / "tokenizer.json"
    tokenizer.save(str(target))
    return target


def test_text_is_whole_and_without_special_tokens(path: Path) -> None:
    assert TextTokenizer.load([path]).encode_text("a b a b a b") == [3, 4, 3, 4, 3, 4]


def test_sentences_are_cut_and_have_special_tokens(path: Path) -> None:
    tokenizer = TextTokenizer.load([path])
    assert tokenizer.encode_sentence("a b a b a b", 5) == [1, 3, 4, 3, 2]
    assert tokenizer.encode_sentence("a b", 5) == [1, 3, 4, 2]
    assert tokenizer.encode_text("a b a b a b") == [3, 4, 3, 4, 3, 4]


def test_no_tokenizer_and_a_wrong_one_are_refused(tmp_path: Path, path: Path) -> None:
    other = path.rename(tmp_path / "vocab.json")
    with pytest.raises(InputError) as caught:
        TextTokenizer.load([other])
    assert caught.value.problems[0].actual == "vocab.json"
    wrong = tmp_path / "tokenizer.json"
    wrong.write_text("{}")
    with pytest.raises(InputError) as caught:
        TextTokenizer.load([wrong])
    assert caught.value.problems[0].where == str(wrong)
