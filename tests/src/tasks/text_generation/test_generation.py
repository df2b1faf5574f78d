import numpy as np
import pytest

from enginewright.engines.package import EnginePackage, Tensor
from enginewright.errors import InputError
from enginewright.hashing import FileDigest
from enginewright.tasks.text_generation.decoder import make_decoder
from enginewright.tasks.text_generation.generation import (
    GenerationSettings,
    check_prompts,
    generate,
)

VOCABULARY = 10
CACHE = ("past_key_values.0.key", "past_key_values.0.value")


def package(tmp_path, *, cache, **limits):
    tensors = [Tensor("input_ids", "input", "int64", ("batch", "sequence"))]
    if cache:
        shape = ("batch", 1, "past_sequence", 1)
        tensors += [Tensor(name, "input", "float32", shape) for name in CACHE]
    tensors.append(Tensor("logits", "output", "float32", ("batch", "sequence", VOCABULARY)))
    largest = {"max_batch": None, "max_sequence": None, "max_total_sequence": None, **limits}
    return EnginePackage(
        tmp_path, "x", "text-generation", "onnxruntime", tmp_path, FileDigest("0" * 64, 0),
        tuple(tensors), (), **largest,
    )  # fmt: skip


class Counting:
    """An engine whose next token is the sum of all real tokens modulo 10; remembers its calls."""

    def __init__(self):
        self.calls = []

    def empty(self, _name, batch):
        return np.zeros((batch, 1, 0, 1), np.float32)

    def run(self, inputs, _outputs, held=()):
        self.calls.append(inputs)
        ids = inputs["input_ids"]
        if "attention_mask" not in inputs:
            return {"logits": one_hot(np.cumsum(ids, axis=1) % VOCABULARY)}, {}
        past = inputs[CACHE[0]][:, 0, :, 0]
        mask = inputs["attention_mask"]
        assert mask.shape[1] == past.shape[1] + ids.shape[1]
        everything = np.concatenate([past, ids], axis=1) * mask
        sums = np.cumsum(everything, axis=1)[:, -ids.shape[1] :]
        present = np.concatenate([past, ids], axis=1)[:, None, :, None]
        return {"logits": one_hot(sums % VOCABULARY)}, dict.fromkeys(held, present)

    def device_bytes(self):
        return None


def one_hot(tokens):
    return np.eye(VOCABULARY, dtype=np.float32)[tokens.astype(int)]


def run(tmp_path, prompts, *, cache=True, chunk=None, total=None, **settings):
    backend = Counting()
    decoder = make_decoder(package(tmp_path, cache=cache), backend, chunk=chunk)
    steps = list(generate(decoder, prompts, GenerationSettings(**settings), total))
    return steps, backend.calls


@pytest.mark.parametrize("cache", [True, False], ids=["cache", "no-cache"])
def test_rows_do_not_disturb_each_other(tmp_path, cache):
    # 1+2=3, 6, 12->2, 4; 5, 10->0, 0, 0.
    steps, _ = run(tmp_path, [[1, 2], [5]], cache=cache, max_tokens=4)
    assert steps == [(3, 5), (6, 0), (2, 0), (4, 0)]


def test_padding_and_positions(tmp_path):
    _, calls = run(tmp_path, [[1, 2, 3], [5]], max_tokens=2)
    first, second = calls
    assert first["input_ids"].tolist() == [[1, 2, 3], [0, 0, 5]]
    assert first["attention_mask"].tolist() == [[1, 1, 1], [0, 0, 1]]
    assert first["position_ids"].tolist() == [[0, 1, 2], [0, 0, 0]]
    assert second["position_ids"].tolist() == [[3], [1]]
    assert second["attention_mask"].tolist() == [[1, 1, 1, 1], [0, 0, 1, 1]]


def test_prefill_in_chunks(tmp_path):
    steps, calls = run(tmp_path, [[1, 2, 3, 4, 5]], chunk=2, max_tokens=1)
    assert [call["input_ids"].tolist() for call in calls] == [[[1, 2]], [[3, 4]], [[5]]]
    assert steps == [(5,)]


def test_a_row_ends_alone(tmp_path):
    steps, _ = run(tmp_path, [[1, 2], [5]], max_tokens=3, end_tokens=frozenset([6]))
    assert steps == [(3, 5), (None, 0), (None, 0)]


def test_all_rows_end(tmp_path):
    steps, calls = run(tmp_path, [[1, 2]], max_tokens=9, end_tokens=frozenset([6]))
    assert steps == [(3,)]
    assert len(calls) == 2


def test_stops_when_the_context_is_full(tmp_path):
    steps, calls = run(tmp_path, [[1, 2]], total=4, max_tokens=9)
    assert steps == [(3,), (6,)]
    # The last token needs no pass of its own.
    assert len(calls) == 2


def test_prompts_beyond_the_limits(tmp_path):
    small = package(tmp_path, cache=True, max_batch=2, max_total_sequence=3)
    with pytest.raises(InputError) as caught:
        check_prompts(small, [[1, 2, 3, 4], [], [1]])
    assert [(p.what, p.expected, p.actual) for p in caught.value.problems] == [
        ("a prompt has no tokens", "at least one token", "0"),
        ("more prompts than the engine takes", "at most 2", "3"),
        ("more tokens in the longest prompt than the engine takes", "at most 3", "4"),
    ]


def test_engine_without_logits(tmp_path):
    engine = package(tmp_path, cache=False)
    without = EnginePackage(**{**vars(engine), "tensors": engine.tensors[:1]})
    with pytest.raises(InputError, match="does not generate text"):
        make_decoder(without, Counting())
