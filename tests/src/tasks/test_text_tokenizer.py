from __future__ import annotations

from pathlib import Path

import pytest
import tokenizers

from enginewright.errors import InputError
from enginewright.tasks.text_tokenizer import TextTokenizer


def save(path: Path, **more: int) -> Path:
    vocabulary = {"[PAD]": 0, "[CLS]": 1, "[SEP]": 2, "a": 3, "b": 4, **more}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[PAD]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    # Settings of somebody's serving, which must not change what is measured.
    tokenizer.enable_padding(length=9)
    tokenizer.enable_truncation(4)
    tokenizer.save(str(path))
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return save(tmp_path / "tokenizer.json")


def load(path: Path) -> TextTokenizer:
    return TextTokenizer.load({"tokenizer.json": path}, "the package")


def test_text_is_whole_with_and_without_special_tokens(path: Path) -> None:
    assert load(path).encode("a b a b a b", special=False) == [3, 4, 3, 4, 3, 4]
    assert load(path).encode("a b a b a b") == [1, 3, 4, 3, 4, 3, 4, 2]
    assert load(path).encode("a") == [1, 3, 2]


def test_no_tokenizer_and_a_wrong_one_are_refused(tmp_path: Path, path: Path) -> None:
    with pytest.raises(InputError) as caught:
        TextTokenizer.load({"vocab.json": path}, "the package")
    [problem] = caught.value.problems
    assert (problem.where, problem.actual) == ("the package", "vocab.json")
    wrong = tmp_path / "wrong.json"
    wrong.write_text("{}")
    with pytest.raises(InputError) as caught:
        load(wrong)
    assert caught.value.problems[0].where == str(wrong)


def test_row_e16_a_token_beyond_the_vocabulary_is_named_with_its_id_and_the_size(
    tmp_path: Path,
) -> None:
    """As public reports have it: a token was added, and the embedding has no row for it."""
    tokenizer = load(save(tmp_path / "t.json", new=7, newer=8))
    tokenizer.check_vocabulary(tokenizer.encode("a b"), 5)
    tokenizer.check_vocabulary(tokenizer.encode("a new"), None)
    with pytest.raises(InputError) as caught:
        tokenizer.check_vocabulary(tokenizer.encode("new a newer new"), 7)
    assert [(p.where, p.expected, p.actual) for p in caught.value.problems] == [
        ("token 'new' of the package", "an id below 7, the size of the vocabulary", "id 7"),
        ("token 'newer' of the package", "an id below 7, the size of the vocabulary", "id 8"),
    ]


def test_two_tokenizers_that_read_a_text_differently(tmp_path: Path, path: Path) -> None:
    load(path).check_same("a b", [1, 3, 4, 2])
    with pytest.raises(InputError) as caught:
        load(save(tmp_path / "t.json", a=4, b=3)).check_same("a b", [1, 3, 4, 2])
    [problem] = caught.value.problems
    assert problem.where == "from token 2 on"
    assert problem.expected == "[4, 3, 2] of the package"
