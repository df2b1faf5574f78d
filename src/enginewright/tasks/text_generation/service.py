"""Serves a decoder: texts join a running batch when a place is free, and leave when they end."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from enginewright.errors import InputError, Problem
from enginewright.run.opened import OpenedEngine
from enginewright.serving.ask import Answer, Ask, Chat, Ended, Generate, Piece, Sampling, Started
from enginewright.serving.service import Capacity
from enginewright.tasks.text_generation.chat_template import ChatTemplate
from enginewright.tasks.text_generation.feed import Feeder, Logits
from enginewright.tasks.text_generation.generation import check_prompts
from enginewright.tasks.text_generation.rows import CachedRows, Reading, RecomputedRows, Rows
from enginewright.tasks.text_generation.sampling import SamplingSettings, choose_token
from enginewright.tasks.text_generation.text_stream import TextStream
from enginewright.tasks.text_tokenizer import TextTokenizer

MAX_TOKENS = 16
"""Where an ask says nothing, as OpenAI's API has it."""


@dataclass(frozen=True)
class Text:
    """One job: what to continue, and how far."""

    prompt: tuple[int, ...]
    most: int
    """Tokens to generate."""
    sampling: SamplingSettings
    end_tokens: frozenset[int]
    stop: tuple[str, ...]


@dataclass
class Slot:
    """A text with a row of the batch."""

    number: int
    text: Text
    stream: TextStream
    made: int = 0
    last: int = 0
    ended: bool = False

    def take(self, logits: Logits) -> list[Answer]:
        """Choose the next token from `logits` [vocabulary]; returns what the client gets."""
        token = choose_token(logits, self.text.sampling, row=0, step=self.made)
        if token in self.text.end_tokens:
            self.ended = True
            rest = self.stream.finish()
            return [*([Piece(rest, ())] if rest else []), Ended("stop")]
        self.made, self.last = self.made + 1, token
        piece = self.stream.add(token)
        if self.stream.stopped:
            self.ended = True
            return [Piece(piece, (token,)), Ended("stop")]
        if self.made == self.text.most:
            self.ended = True
            return [Piece(piece + self.stream.finish(), (token,)), Ended("length")]
        return [Piece(piece, (token,))]


@dataclass
class Batch:
    """What is computed: the prompts that are read now, and the rows that are continued."""

    rows: Rows
    slots: list[Slot] = field(default_factory=list)
    reading: Reading | None = None
    readers: list[Slot] = field(default_factory=list)

    @property
    def size(self) -> int:
        return len(self.slots) + len(self.readers)


class DecoderService:
    asks: tuple[type[Ask], ...]

    def __init__(self, engine: OpenedEngine, capacity: Capacity) -> None:
        """Raises `InputError` for an engine whose rows cannot come and go."""
        self._engine = engine
        self._limits = engine.interface.limits
        self._tokenizer = TextTokenizer.load(engine.files, engine.interface.where)
        self._template = ChatTemplate.of(engine.files)
        self.asks = (Generate, Chat) if self._template else (Generate,)
        self.slots = min(capacity.slots, self._limits.batch or capacity.slots)
        self._budget = capacity.batch_tokens
        feeder = self._feeder()
        self._vocabulary = feeder.vocabulary
        _check_cache(feeder, engine)
        self._batch = Batch(CachedRows() if feeder.has_cache else RecomputedRows(feeder))
        self._waiting: deque[Slot] = deque()

    def _feeder(self) -> Feeder:
        return Feeder(self._engine.interface, self._engine.backend)

    @property
    def is_idle(self) -> bool:
        return not (self._waiting or self._batch.size)

    def prepare(self, ask: Ask) -> Text:
        if isinstance(ask, Chat):
            assert self._template is not None  # otherwise it is not among `asks`
            how = ask.after
            prompt = self._tokenizer.encode(self._template.prompt(ask.messages), special=False)
        else:
            assert isinstance(ask, Generate)
            how, given = ask, ask.prompt
            prompt = self._tokenizer.encode(given) if isinstance(given, str) else list(given)
        check_prompts(self._limits, [prompt])
        _check_ids(prompt, self._vocabulary)
        return Text(
            tuple(prompt),
            self._most(len(prompt), how.max_tokens, isinstance(ask, Chat)),
            _settings(how.sampling),
            frozenset() if how.ignore_end else frozenset(self._engine.stop),
            how.stop,
        )

    def _most(self, prompt: int, asked: int | None, is_chat: bool) -> int:
        """Raises `InputError` where the engine has no room for what was asked."""
        full = self._limits.total_sequence
        if full is None:
            return asked or MAX_TOKENS
        room = full - prompt
        if room < 1 or (asked or 0) > room:
            what = "more tokens than the engine takes, prompt and answer together"
            actual = f"{prompt} in the prompt, {asked or 1} to generate"
            raise InputError(Problem(what, "", f"at most {full}", actual, "ask for fewer"))
        return asked or (room if is_chat else min(room, MAX_TOKENS))

    def submit(self, number: int, job: Text) -> None:
        self._waiting.append(Slot(number, job, TextStream(self._tokenizer.tokenizer, job.stop)))

    def cancel(self, number: int) -> None:
        batch = self._batch
        self._waiting = deque(slot for slot in self._waiting if slot.number != number)
        for slot in (*batch.slots, *batch.readers):
            if slot.number == number:
                slot.ended = True
        # Those that are read now are read to the end: their row cannot leave before.
        self._drop_ended()

    def advance(self) -> Sequence[tuple[int, Answer]]:
        batch = self._batch
        answers = [*self._admit()]
        if batch.slots:
            logits = batch.rows.advance([slot.last for slot in batch.slots])
            answers += _taken(batch.slots, logits)
            self._drop_ended()
        if batch.reading is not None:
            answers += self._read(batch.reading)
        return answers

    def _admit(self) -> list[tuple[int, Answer]]:
        """Begin to read as many waiting prompts as there are places and tokens for."""
        batch = self._batch
        group: list[Slot] = []
        longest = 0
        while self._waiting and batch.reading is None and batch.size + len(group) < self.slots:
            longest = max(longest, len(self._waiting[0].text.prompt))
            if group and longest * (len(group) + 1) > self._budget:
                break
            group.append(self._waiting.popleft())
        if group:
            prompts = [slot.text.prompt for slot in group]
            batch.reading, batch.readers = Reading(self._feeder(), prompts), group
        return [(slot.number, Started(len(slot.text.prompt))) for slot in group]

    def _read(self, reading: Reading) -> list[tuple[int, Answer]]:
        batch = self._batch
        logits = reading.read(self._budget)
        if logits is None:
            return []
        batch.rows.join(reading)
        batch.slots += batch.readers
        answers = _taken(batch.readers, logits)
        batch.reading, batch.readers = None, []
        self._drop_ended()
        return answers

    def _drop_ended(self) -> None:
        batch = self._batch
        kept = [row for row, slot in enumerate(batch.slots) if not slot.ended]
        if len(kept) < len(batch.slots):
            batch.rows.keep(kept)
            batch.slots = [batch.slots[row] for row in kept]

    def test(self) -> None:
        """Texts of several lengths, each alone and then all in one batch: the same tokens."""
        size = min(self._limits.total_sequence or 24, 24)
        known = self._vocabulary or self._tokenizer.tokenizer.get_vocab_size()
        lengths = sorted({1, max(size // 4, 1), max(size // 2, 1)})[: self.slots]
        prompts = [
            tuple((7 * place + length) % known for place in range(length)) for length in lengths
        ]
        texts = [
            Text(prompt, max(min(8, size - len(prompt)), 1), SamplingSettings(), frozenset(), ())
            for prompt in prompts
        ]
        alone = [self._tokens([text])[0] for text in texts]
        together = self._tokens(texts)
        if alone != together:
            what = "the engine computes another text in a batch than alone"
            where = self._engine.interface.where
            raise InputError(Problem(what, where, str(alone)[:400], str(together)[:400]))

    def _tokens(self, texts: Sequence[Text]) -> list[list[int]]:
        for number, text in enumerate(texts):
            self.submit(number, text)
        made: list[list[int]] = [[] for _ in texts]
        while not self.is_idle:
            for number, answer in self.advance():
                if isinstance(answer, Piece):
                    made[number] += answer.tokens
        return made


def open_service(engine: OpenedEngine, capacity: Capacity) -> DecoderService:
    return DecoderService(engine, capacity)


def _taken(slots: Sequence[Slot], logits: Logits) -> list[tuple[int, Answer]]:
    if not np.isfinite(logits).all():
        # No answer is better than one that is made of it.
        raise FloatingPointError("the engine computed a number that is none")
    return [
        (slot.number, answer)
        for slot, row in zip(slots, logits, strict=True)
        if not slot.ended
        for answer in slot.take(row)
    ]


def _settings(sampling: Sampling) -> SamplingSettings:
    return SamplingSettings(sampling.temperature, sampling.top_k, sampling.top_p, sampling.seed)


def _check_ids(ids: Sequence[int], vocabulary: int | None) -> None:
    wrong = sorted({t for t in ids if t < 0 or (vocabulary is not None and t >= vocabulary)})
    if wrong:
        what = "a token is not in the model's vocabulary"
        expected = f"ids from 0 to {vocabulary - 1}" if vocabulary else "ids from 0"
        raise InputError(Problem(what, "", expected, str(wrong[:10])))


def _check_cache(feeder: Feeder, engine: OpenedEngine) -> None:
    if feeder.has_cache and not (feeder.can_join and feeder.can_pad_left):
        what = "the engine's rows cannot come and go, so it cannot be served"
        expected = (
            "a cache in arrays of the host that grows by a place a token, `attention_mask` and "
            "`position_ids`"
        )
        fix = "build it for a product that runs on the processor, or use `run`"
        raise InputError(Problem(what, engine.interface.where, expected, fix=fix))
