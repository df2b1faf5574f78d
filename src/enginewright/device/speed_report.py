"""The report of a benchmark, as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def render(report: Mapping[str, Any]) -> str:
    """What was asked, each way with its numbers, and each bound."""
    device, asked = report["device"], report["asked"]
    memory = report["memory_bytes"]
    used = "not told" if memory is None else f"{memory / 1e6:,.0f} MB"
    lines = [
        f"on {device['name']}, driver {device['driver']}, {report['dtype']}",
        f"prompts of {asked['prompt_tokens']} tokens, {asked['new_tokens']} generated; median of "
        f"{asked['repeats']} after {asked['warmup']} that do not count",
        f"loaded in {report['load_seconds']:.3f} s; memory of the GPU {used}",
        "",
        f"{'':<24}{'rows':>6}{'first token':>14}{'tokens/s':>12}",
        *(_row("engine", speed) for speed in report["speeds"]),
        *(
            _row(f"transformers, {name}", speed)
            for name, speed in sorted(report["baselines"].items())
        ),
        "",
    ]
    for verdict in report["verdicts"]:
        word = "pass" if verdict["passed"] else "FAIL"
        measured = "-" if verdict["measured"] is None else f"{verdict['measured']:.4g}"
        bound = f"{verdict['relation']} {verdict['bound']:.4g}"
        lines.append(f"{word}  {verdict['measure']}  {measured}  {bound}")
    return "\n".join([*lines, ""])


def _row(name: str, speed: Mapping[str, Any]) -> str:
    first = f"{speed['first_token_seconds'] * 1000:.2f} ms"
    return f"{name:<24}{speed['batch']:>6}{first:>14}{speed['tokens_per_second']:>12.0f}"
