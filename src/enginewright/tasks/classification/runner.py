"""Classifies the lines of a file: `run DIR --pairs FILE` or `--lines FILE`, a JSON value each."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from enginewright import canonical_json
from enginewright.errors import InputError, Problem, raise_if_any
from enginewright.run.argument import Argument
from enginewright.run.figures import Report, memory, memory_text
from enginewright.run.opened import OpenedEngine
from enginewright.tasks.classification.feed import SEPARATOR, Feeder, Row, encode
from enginewright.tasks.text_tokenizer import TextTokenizer

TITLE = "classify lines of text, pairs, or tokens"
ARGUMENTS = (
    Argument("--pairs", "a UTF-8 file, two texts a line with a tab between: score each pair", Path),
    Argument("--lines", "a UTF-8 file; one JSON value a line comes out", Path),
)
BATCH = 8


def check(given: Mapping[str, Any]) -> None:
    """Raise `InputError` unless lines or pairs are given."""
    if ("lines" in given) == ("pairs" in given):
        expected = "one of --pairs FILE and --lines FILE"
        raise InputError(Problem("nothing to classify", "the command line", expected))


def run(engine: OpenedEngine, given: Mapping[str, Any], stream: TextIO | None) -> Report:
    """Raises `InputError` for lines that the engine cannot read, all of them at once."""
    tokenizer = TextTokenizer.load(engine.files, engine.interface.where)
    lines = _read_lines(given)
    begin = time.monotonic()
    rows = [encode(tokenizer, line) for line in lines]
    _check_rows(engine, tokenizer, rows)
    feeder = Feeder(engine.interface, engine.backend)
    names = label_names(engine.files, feeder.labels)
    results = []
    for row, logits in zip(rows, _classify(engine, feeder, rows), strict=True):
        result = describe(logits, names, tokenizer, row)
        results.append(result)
        if stream is not None:
            print(json.dumps(result, ensure_ascii=False), file=stream, flush=True)
    seconds = max(time.monotonic() - begin, 1e-9)
    speed = f"{len(lines)} lines, {len(lines) / seconds:.1f} lines/s"
    document = {"results": results, "lines": len(lines), **memory(engine.backend)}
    return Report(document, f"{speed}, {memory_text(engine.backend)}")


def _read_lines(given: Mapping[str, Any]) -> list[str]:
    path: Path = given.get("pairs") or given["lines"]
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        what = "lines cannot be read"
        raise InputError(Problem(what, str(path), "a UTF-8 file", str(error))) from error
    tabs = 1 if "pairs" in given else 0
    expected = "two texts with one tab between them" if tabs else "a text without a tab"
    raise_if_any(
        [
            Problem("not a line of the form", f"{path}, line {number}", expected, line[:60])
            for number, line in enumerate(lines, 1)
            if line.count(SEPARATOR) != tabs
        ]
    )
    return lines


def _check_rows(engine: OpenedEngine, tokenizer: TextTokenizer, rows: Sequence[Row]) -> None:
    tokenizer.check_vocabulary([token for row in rows for token in row.ids], engine.vocabulary)
    limit = engine.interface.limits.total_sequence
    raise_if_any(
        [
            Problem("a line is too long", f"line {number}", f"at most {limit} tokens", str(count))
            for number, count in enumerate((len(row.ids) for row in rows), 1)
            if limit is not None and count > limit
        ]
    )


def _classify(
    engine: OpenedEngine, feeder: Feeder, rows: Sequence[Row]
) -> Iterator[NDArray[np.float32]]:
    size = min(BATCH, engine.interface.limits.batch or BATCH)
    for begin in range(0, len(rows), size):
        yield from feeder.classify(rows[begin : begin + size])


def label_names(files: Mapping[str, Path], count: int | str) -> list[str]:
    """Of `id2label` in a shipped `config.json`; else their numbers."""
    path = files.get("config.json")
    said = canonical_json.read_object(path).get("id2label") if path is not None else None
    known = said if isinstance(said, Mapping) else {}
    numbers = range(count if isinstance(count, int) else len(known))
    return [str(known.get(str(number), number)) for number in numbers]


def describe(
    logits: NDArray[np.float32], names: Sequence[str], tokenizer: TextTokenizer, row: Row
) -> Any:
    """Of [labels]: the scores; of [tokens, labels]: a list with those of each token."""
    if logits.ndim == 1:
        return scores_of(logits, names)
    return [
        {"token": tokenizer.tokenizer.id_to_token(token), **scores_of(one, names)}
        for token, one in zip(row.ids, logits, strict=True)
    ]


def scores_of(logits: NDArray[np.float32], names: Sequence[str]) -> dict[str, Any]:
    """A single label is a score of the whole, sigmoid of its logit, as cross-encoders have it;
    several are probabilities, softmax of theirs.
    """
    wide = logits.astype(np.float64)
    if len(wide) == 1:
        return {"score": _rounded(1 / (1 + np.exp(-wide[0]))), "logit": _rounded(wide[0])}
    powers = np.exp(wide - wide.max())
    scores = powers / powers.sum()
    labels = [names[n] if n < len(names) else str(n) for n in range(len(scores))]
    best = int(wide.argmax())
    named = {label: _rounded(score) for label, score in zip(labels, scores, strict=True)}
    return {"label": labels[best], "score": _rounded(scores[best]), "scores": named}


def _rounded(value: float) -> float:
    return float(f"{value:.7g}")
