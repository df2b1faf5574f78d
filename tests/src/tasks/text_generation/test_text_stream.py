import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from enginewright.tasks.text_generation.text_stream import TextStream


@pytest.fixture(scope="module")
def tokenizer():
    """Every byte is a token: characters of several bytes come in pieces."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({byte: index for index, byte in enumerate(alphabet)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def stream(tokenizer, text, *stop):
    result = TextStream(tokenizer, stop)
    pieces = []
    for token in tokenizer.encode(text).ids:
        pieces.append(result.add(token))
        if result.stopped:
            break
    return [*pieces, result.finish()], result.stopped


def test_text_comes_as_soon_as_it_is_whole(tokenizer):
    pieces, stopped = stream(tokenizer, "aé")
    assert pieces == ["a", "", "é", ""]
    assert not stopped


def test_stop_text_is_left_out(tokenizer):
    pieces, stopped = stream(tokenizer, "one\n\ntwo", "\n\n")
    assert "".join(pieces) == "one"
    assert stopped


def test_what_may_begin_a_stop_text_waits(tokenizer):
    pieces, stopped = stream(tokenizer, "abcabd", "abd")
    assert pieces == ["", "", "abc", "", "", "", ""]
    assert stopped


def test_waiting_text_comes_at_the_end(tokenizer):
    pieces, stopped = stream(tokenizer, "xab", "abd")
    assert "".join(pieces) == "xab"
    assert not stopped


def test_the_first_of_several_stop_texts_counts(tokenizer):
    pieces, _ = stream(tokenizer, "hello world", "wor", "lo w")
    assert "".join(pieces) == "hel"
