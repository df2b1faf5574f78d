"""Measure a language model: logits of each token beside the reference's, and perplexity."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from enginewright import progress
from enginewright.tasks.text_generation.feed import Feeder, Logits
from enginewright.tasks.text_generation.reference import logits_of
from enginewright.tasks.text_generation.windows import Window, WindowRun
from enginewright.tasks.text_tokenizer import TextTokenizer
from enginewright.validation import held_out_text
from enginewright.validation.lengths import Lengths, choose_lengths
from enginewright.validation.measurement import Candidate, Coverage, Measured, ReferenceFiles, Run
from enginewright.validation.measurement_request import MeasurementRequest
from enginewright.validation.reference_model import ReferenceModel

WHOLE_WINDOW = 256
"""Tokens of the windows that the whole dataset is cut into."""
FEW, FEWEST = 8, 2
"""Windows of each short length, and of the longest."""
BATCH = 3
"""More than one, and no power of two: a mixed-up axis shows."""

Reference = Callable[[Sequence[int]], Logits]
"""Tokens of a row -> logits [tokens, vocabulary]."""


def measure(
    candidate: Candidate,
    reference: ReferenceFiles,
    dataset: Path,
    request: MeasurementRequest,
) -> Measured:
    """All of the dataset once, then short rows and the longest in each way that serving feeds."""
    tokens = read_tokens(candidate, reference, dataset)
    model = ReferenceModel.load(reference, request, auto="AutoModelForCausalLM")
    feeder = Feeder(candidate.interface, candidate.backend)
    measured = measure_tokens(feeder, candidate, lambda row: logits_of(model, row), tokens, request)
    notes = (*measured.notes, *model.notes())
    return Measured(measured.runs, measured.coverage, measured.reference, notes)


def read_tokens(candidate: Candidate, reference: ReferenceFiles, dataset: Path) -> list[int]:
    """The dataset as the engine's tokenizer reads it; raises `InputError` where the reference's
    reads it otherwise, and for tokens that the engine does not have.
    """
    text = held_out_text.read(dataset)
    tokenizer = TextTokenizer.load(candidate.files, "engine")
    tokens = tokenizer.encode(text, special=False)
    TextTokenizer.load(reference.others, "reference").check_same(text, tokens, special=False)
    feeder = Feeder(candidate.interface, candidate.backend)
    tokenizer.check_vocabulary(tokens, feeder.vocabulary)
    return tokens


def measure_tokens(
    feeder: Feeder,
    candidate: Candidate,
    reference: Reference,
    tokens: Sequence[int],
    request: MeasurementRequest,
) -> Measured:
    limits = candidate.interface.limits
    lengths = choose_lengths(limits, request, len(tokens) - 1, has_cache=feeder.has_cache)
    batch = min(BATCH, limits.batch or BATCH)
    progress.report("Measuring", f"{len(tokens)} tokens")
    runs, samples = _whole(feeder, reference, tokens, lengths, batch, request)
    for length in lengths.measured:
        progress.report("Measuring", f"rows of {length} tokens")
        count = FEWEST if length == lengths.longest else FEW
        # One token more: the one that follows the last of the window.
        windows = held_out_text.spread(tokens, length + 1, count)
        runs += _shapes(feeder, reference, windows, min(batch, len(windows)))
    coverage = Coverage(
        samples=samples,
        samples_there=len(tokens) - 1,
        sample="tokens",
        longest=lengths.longest,
        greatest=lengths.greatest,
        largest_batch=batch,
        not_reached=(*lengths.not_reached, *_gaps(feeder, batch, samples, len(tokens) - 1)),
    )
    return Measured(runs, coverage, "the model's logits, one row at a time")


def _gaps(feeder: Feeder, batch: int, samples: int, there: int) -> list[str]:
    gaps = []
    if batch == 1:
        gaps.append("more than one row at once: the engine takes one")
    if samples < there:
        why = (
            "the engine gives the logits of a row's last token alone"
            if feeder.last_only and not feeder.has_cache
            else "`max_samples`"
        )
        gaps.append(f"{there - samples} of {there} tokens of the dataset: {why}")
    return gaps


def _whole(
    feeder: Feeder,
    reference: Reference,
    tokens: Sequence[int],
    lengths: Lengths,
    batch: int,
    request: MeasurementRequest,
) -> tuple[list[Run], int]:
    """All windows of the dataset, and how many tokens were compared."""
    size = min(WHOLE_WINDOW, lengths.longest)
    windows = held_out_text.consecutive(tokens, size)[: request.max_samples]
    run = WindowRun("whole dataset", batch, is_whole=True, by_token=feeder.last_only)
    for begin in range(0, len(windows), batch):
        # The last window may be shorter than the others.
        for group in _of_one_length(windows[begin : begin + batch]):
            run.add(feeder, group, [reference(window[:-1]) for window in group])
    return [run.to_run(None)], run.comparison.rows


def _of_one_length(windows: Sequence[Window]) -> list[Sequence[Window]]:
    lengths = dict.fromkeys(map(len, windows))
    return [[window for window in windows if len(window) == length] for length in lengths]


def _shapes(
    feeder: Feeder, reference: Reference, windows: Sequence[Window], batch: int
) -> list[Run]:
    """Windows of one length: alone, side by side, padded on each side, with prefill and decode."""
    length = len(windows[0]) - 1
    runs = [WindowRun("rows", size) for size in dict.fromkeys((1, batch))]
    runs += [WindowRun("rows", batch, padding=side) for side in padding_sides(feeder)]
    if feeder.has_cache:
        side = "left" if feeder.can_pad_left else "none"
        runs.append(WindowRun("prefill, then a token at a time", batch, padding=side, decode=True))
    # Logits are large (a vocabulary a token), so only those of one group are kept.
    for begin in range(0, len(windows), batch):
        group = windows[begin : begin + batch]
        expected = [reference(window[:-1]) for window in group]
        for run in runs:
            run.add(feeder, group, expected)
    return [run.to_run(length) for run in runs]


def padding_sides(feeder: Feeder) -> tuple[str, ...]:
    """Where the engine allows padding.

    On the right it needs nothing but causality: what follows a token must not change its logits;
    an engine that gives the last logits only cannot show that. On the left it needs a mask and
    positions.
    """
    sides = () if feeder.last_only else ("right",)
    return (*sides, "left") if feeder.can_pad_left else sides
