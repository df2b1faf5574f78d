import numpy as np
import pytest

from enginewright.engines.limits import Limits
from enginewright.engines.tensor import EngineTensor
from enginewright.errors import InputError
from enginewright.tasks.interface import Interface
from enginewright.tasks.text_generation.decoder import make_decoder
from enginewright.tasks.text_generation.generation import (
    GenerationSettings,
    check_prompts,
    generate,
)

VOCABULARY = 10
CACHE = ("past_key_values.0.key", "past_key_values.0.value")


def engine(*, cache, last=False, **limits):
    tensors = [EngineTensor("input_ids", "input", "int64", ("batch", "sequence"))]
    if cache:
        both = [("attention_mask", "total_sequence"), ("position_ids", "sequence")]
        tensors += [EngineTensor(name, "input", "int64", ("batch", axis)) for name, axis in both]
        shape = ("batch", 1, "past_sequence", 1)
        tensors += [EngineTensor(name, "input", "float32", shape) for name in CACHE]
    shape = ("batch", 1 if last else "sequence", VOCABULARY)
    tensors.append(EngineTensor("logits", "output", "float32", shape))
    return Interface("an engine", tuple(tensors), Limits(**limits))


class Counting:
    """An engine whose next token is the sum of all real tokens modulo 10; remembers its calls."""

    def __init__(self, last=False):
        self.calls = []
        self.last = last

    def empty(self, _name, batch):
        return np.zeros((batch, 1, 0, 1), np.float32)

    def run(self, inputs, outputs, held=()):
        given, present = self.compute(inputs, held)
        return {
            name: given[name][:, -1:] if self.last else given[name] for name in outputs
        }, present

    def compute(self, inputs, held):
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


def run(prompts, *, cache=True, last=False, chunk=None, total=None, **settings):
    backend = Counting(last=last)
    decoder = make_decoder(engine(cache=cache, last=last), backend, chunk=chunk)
    steps = list(generate(decoder, prompts, GenerationSettings(**settings), total))
    return steps, backend.calls


@pytest.mark.parametrize("cache", [True, False], ids=["cache", "no-cache"])
def test_rows_do_not_disturb_each_other(cache):
    # 1+2=3, 6, 12->2, 4; 5, 10->0, 0, 0.
    steps, _ = run([[1, 2], [5]], cache=cache, max_tokens=4)
    assert steps == [(3, 5), (6, 0), (2, 0), (4, 0)]


def test_padding_and_positions():
    _, calls = run([[1, 2, 3], [5]], max_tokens=2)
    first, second = calls
    assert first["input_ids"].tolist() == [[1, 2, 3], [0, 0, 5]]
    assert first["attention_mask"].tolist() == [[1, 1, 1], [0, 0, 1]]
    assert first["position_ids"].tolist() == [[0, 1, 2], [0, 0, 0]]
    assert second["position_ids"].tolist() == [[3], [1]]
    assert second["attention_mask"].tolist() == [[1, 1, 1, 1], [0, 0, 1, 1]]


def test_prefill_in_chunks():
    steps, calls = run([[1, 2, 3, 4, 5]], chunk=2, max_tokens=1)
    assert [call["input_ids"].tolist() for call in calls] == [[[1, 2]], [[3, 4]], [[5]]]
    assert steps == [(5,)]


def test_a_row_ends_alone():
    steps, _ = run([[1, 2], [5]], max_tokens=3, end_tokens=frozenset([6]))
    assert steps == [(3, 5), (None, 0), (None, 0)]


def test_all_rows_end():
    steps, calls = run([[1, 2]], max_tokens=9, end_tokens=frozenset([6]))
    assert steps == [(3,)]
    assert len(calls) == 2


def test_stops_when_the_context_is_full():
    steps, calls = run([[1, 2]], total=4, max_tokens=9)
    assert steps == [(3,), (6,)]
    # The last token needs no pass of its own.
    assert len(calls) == 2


def test_prompts_beyond_the_limits():
    small = Limits(batch=2, total_sequence=3)
    with pytest.raises(InputError) as caught:
        check_prompts(small, [[1, 2, 3, 4], [], [1]])
    assert [(p.what, p.expected, p.actual) for p in caught.value.problems] == [
        ("a prompt has no tokens", "at least one token", "0"),
        ("more prompts than the engine takes", "at most 2", "3"),
        ("more tokens in the longest prompt than the engine takes", "at most 3", "4"),
    ]


@pytest.mark.parametrize("cache", [True, False], ids=["cache", "no-cache"])
def test_engines_that_give_the_last_logits_alone(cache):
    steps, _ = run([[1, 2], [5]], cache=cache, last=True, max_tokens=4)
    assert steps == [(3, 5), (6, 0), (2, 0), (4, 0)]


def test_engine_without_logits():
    without = Interface("an engine", engine(cache=False).tensors[:1])
    with pytest.raises(InputError, match="does not generate text"):
        make_decoder(without, Counting())


def test_an_input_that_nobody_feeds_is_named():
    pixels = EngineTensor("pixel_values", "input", "float32", ("batch", 3))
    other = Interface("an engine", (*engine(cache=False).tensors, pixels))
    with pytest.raises(InputError, match="input `pixel_values` is not known"):
        make_decoder(other, Counting())
