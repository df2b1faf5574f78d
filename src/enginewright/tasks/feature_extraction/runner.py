"""Embeds the lines of a file: `run DIR --lines FILE` gives one JSON array a line."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from enginewright.engines.limits import Limits
from enginewright.errors import InputError, Problem, raise_if_any
from enginewright.run.argument import Argument
from enginewright.run.figures import Report, memory, memory_text
from enginewright.run.opened import OpenedEngine
from enginewright.tasks.feature_extraction.feed import Feeder, SentenceEncoder

TITLE = "embed lines of text"
ARGUMENTS = (
    Argument("--lines", "a UTF-8 file; one JSON array a line comes out", Path),
    Argument("--prompt-name", "put this prompt of the checkpoint before each line, such as query"),
)
BATCH = 8


def check(given: Mapping[str, Any]) -> None:
    """Raise `InputError` without lines."""
    if "lines" not in given:
        raise InputError(Problem("nothing to embed", "the command line", "--lines FILE"))


def run(engine: OpenedEngine, given: Mapping[str, Any], stream: TextIO | None) -> Report:
    """Raises `InputError` for lines that the engine cannot embed, all of them at once."""
    encoder = SentenceEncoder.load(engine.files, engine.interface.where, given.get("prompt_name"))
    lines = _read_lines(given["lines"])
    begin = time.monotonic()
    vectors = []
    rows = [encoder.encode(line) for line in lines]
    encoder.tokenizer.check_vocabulary([t for row in rows for t in row], engine.vocabulary)
    for vector in embed(engine, rows):
        values = [float(f"{value:.7g}") for value in vector]
        if stream is None:
            vectors.append(values)
        else:
            print(json.dumps(values), file=stream, flush=True)
    seconds = max(time.monotonic() - begin, 1e-9)
    speed = f"{len(lines)} lines, {len(lines) / seconds:.1f} lines/s"
    document = {"embeddings": vectors, "lines": len(lines), **memory(engine.backend)}
    return Report(document, f"{speed}, {memory_text(engine.backend)}")


def _read_lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        what = "lines cannot be read"
        raise InputError(Problem(what, str(path), "a UTF-8 file", str(error))) from error


def embed(engine: OpenedEngine, rows: Sequence[Sequence[int]]) -> Iterator[NDArray[np.float32]]:
    """Yield one vector [hidden] for each row of token ids, in order.

    A batch is a few rows in the order given, padded on the right. Raises `InputError` for an
    engine without the output `embeddings` and for rows that are longer than it takes.
    """
    feeder = Feeder(engine.interface, engine.backend)
    limits = engine.interface.limits
    _check_lengths(limits, rows)
    size = min(BATCH, limits.batch or BATCH)
    for begin in range(0, len(rows), size):
        yield from feeder.embed(rows[begin : begin + size])


def _check_lengths(limits: Limits, rows: Sequence[Sequence[int]]) -> None:
    limit = limits.total_sequence
    if limit is None:
        return
    expected = f"at most {limit} tokens"
    raise_if_any(
        [
            Problem("a line is too long", f"line {number}", expected, str(len(row)))
            for number, row in enumerate(rows, 1)
            if len(row) > limit
        ]
    )
