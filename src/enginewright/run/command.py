"""What the command line asks for, done."""

from __future__ import annotations

import json
import resource
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from tokenizers import Tokenizer

from enginewright import canonical_json
from enginewright.engines.backend import Backend
from enginewright.engines.package import EnginePackage, check_task, read_package
from enginewright.errors import InputError, Problem
from enginewright.products.tensorrt_rtx.cuda_device import check_device, find_device
from enginewright.tasks.feature_extraction.embedding import embed
from enginewright.tasks.text_generation.decoder import make_decoder
from enginewright.tasks.text_generation.generation import (
    GenerationSettings,
    check_prompts,
    generate,
)
from enginewright.tasks.text_generation.sampling import SamplingSettings
from enginewright.tasks.text_generation.text_stream import TextStream

GENERATION_TASKS = ("text-generation", "text-generation-with-past")


@dataclass(frozen=True)
class Command:
    folder: Path
    prompt: str | None = None
    lines: Path | None = None
    max_tokens: int = 128
    sampling: SamplingSettings = field(default_factory=SamplingSettings)
    stop: tuple[str, ...] = ()
    threads: int = 0


@dataclass(frozen=True)
class Report:
    document: Mapping[str, Any]
    """For programs; without the text's figures of this host it is reproducible."""
    figures: str
    """One line for people: speed and peak memory."""


def run_command(command: Command, stream: TextIO | None) -> Report:
    """Generate or embed; text goes to `stream` as it comes, unless that is None."""
    package = read_package(command.folder)
    if command.lines is not None:
        check_task(package, ("feature-extraction",), "--lines")
    else:
        check_task(package, GENERATION_TASKS, "--prompt")
    package.verify()
    tokenizer = _tokenizer(package)
    backend = open_backend(package, command.threads)
    if command.lines is not None:
        return _embed(command.lines, package, tokenizer, backend, stream)
    return _generate(command, package, tokenizer, backend, stream)


def open_backend(package: EnginePackage, threads: int = 0) -> Backend:
    """Raises `InputError` before the engine is loaded when this host cannot run it."""
    if package.product == "onnxruntime":
        from enginewright.products.onnxruntime.backend import OnnxRuntimeBackend

        return OnnxRuntimeBackend(package, threads=threads)
    try:
        check_device(find_device(), package.compute_capabilities, package.engine)
        from enginewright.products.tensorrt_rtx.backend import TensorRtRtxBackend
    except ModuleNotFoundError as error:
        raise InputError(
            Problem(
                "a Python package that runs TensorRT for RTX plans is missing",
                str(package.engine),
                "tensorrt-rtx-cu13-bindings, tensorrt-rtx-cu13-libs, cuda-bindings, ml-dtypes",
                f"no module `{error.name}`",
            )
        ) from error
    return TensorRtRtxBackend(package)


def _tokenizer(package: EnginePackage) -> Tokenizer:
    path = package.optional_file("tokenizer.json")
    if path is None:
        raise InputError(
            Problem(
                "the package has no tokenizer",
                str(package.folder),
                "tokenizer.json",
                fix="name it in the field `tokenizer` of the checkpoint, and package again",
            )
        )
    tokenizer = Tokenizer.from_file(str(path))
    # Length and padding are ours: a stored setting would cut prompts silently.
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def end_tokens(package: EnginePackage) -> frozenset[int]:
    """`eos_token_id` of generation_config.json, else of config.json; one or several."""
    for name in ("generation_config.json", "config.json"):
        path = package.optional_file(name)
        value = canonical_json.read_object(path).get("eos_token_id") if path else None
        if value is not None:
            return frozenset([value] if isinstance(value, int) else value)
    return frozenset()


def _generate(
    command: Command,
    package: EnginePackage,
    tokenizer: Tokenizer,
    backend: Backend,
    stream: TextIO | None,
) -> Report:
    prompt: list[int] = tokenizer.encode(command.prompt).ids
    check_prompts(package, [prompt])
    settings = GenerationSettings(command.max_tokens, end_tokens(package), command.sampling)
    text_stream = TextStream(tokenizer, command.stop)
    pieces: list[str] = []
    tokens: list[int] = []

    def emit(text: str) -> None:
        pieces.append(text)
        if stream is not None:
            print(text, end="", file=stream, flush=True)

    decoder = make_decoder(package, backend)
    begin = time.monotonic()
    first = None
    for (token,) in generate(decoder, [prompt], settings, package.max_total_sequence):
        if token is None:
            break
        first = first or time.monotonic()
        tokens.append(token)
        emit(text_stream.add(token))
        if text_stream.stopped:
            break
    end = time.monotonic()
    emit(text_stream.finish())
    if stream is not None:
        print(file=stream)
    full = package.max_total_sequence
    reason = "end of text"
    if text_stream.stopped:
        reason = "stop text"
    elif len(tokens) == command.max_tokens or (full and len(prompt) + len(tokens) >= full):
        reason = "length"
    # The first token comes with the prompt's own pass, the others one a pass.
    rate = (len(tokens) - 1) / (end - first) if first and len(tokens) > 1 else 0.0
    document = {
        "text": "".join(pieces),
        "tokens": tokens,
        "prompt_tokens": len(prompt),
        "finish_reason": reason,
        "prompt_seconds": round((first or end) - begin, 4),
        "tokens_per_second": round(rate, 2),
    }
    return _generation_report(document, backend)


def _generation_report(document: Mapping[str, Any], backend: Backend) -> Report:
    figures = (
        f"{document['prompt_tokens']} tokens read in {document['prompt_seconds']} s, "
        f"{len(document['tokens'])} generated at {document['tokens_per_second']:.1f} tokens/s, "
        f"ended by {document['finish_reason']}, {_memory_text(backend)}"
    )
    return Report({**document, **_memory(backend)}, figures)


def _embed(
    path: Path,
    package: EnginePackage,
    tokenizer: Tokenizer,
    backend: Backend,
    stream: TextIO | None,
) -> Report:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            Problem("lines cannot be read", str(path), "a UTF-8 file", str(error))
        ) from error
    begin = time.monotonic()
    vectors = []
    tokens = [tokenizer.encode(line).ids for line in lines]
    for vector in embed(package, backend, tokens):
        values = [float(f"{value:.7g}") for value in vector]
        if stream is None:
            vectors.append(values)
        else:
            print(json.dumps(values), file=stream, flush=True)
    seconds = max(time.monotonic() - begin, 1e-9)
    figures = f"{len(lines)} lines, {len(lines) / seconds:.1f} lines/s, {_memory_text(backend)}"
    document = {"embeddings": vectors, "lines": len(lines), **_memory(backend)}
    return Report(document, figures)


def _memory(backend: Backend) -> dict[str, int]:
    # Linux counts in KiB.
    memory = {"peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}
    device = backend.device_bytes()
    return memory if device is None else {**memory, "device_bytes": device}


def _memory_text(backend: Backend) -> str:
    memory = _memory(backend)
    text = f"peak memory {memory['peak_bytes'] / 1e6:.0f} MB"
    if "device_bytes" in memory:
        text += f", {memory['device_bytes'] / 1e6:.0f} MB of the GPU in use"
    return text
