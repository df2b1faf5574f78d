"""Step: sizes of weights, KV cache, activations and engine, before anything is built.

Inputs: `config` (config.json). Parameters: `dtype`; `task` and `logits` as for the export;
`quantization` (null or `{"method", "group_size", "keep"}`); `profiles` as for the engine, of which
the axes `batch`, `sequence` and `past_sequence` count. Output: `size_estimate.json`.
"""

from __future__ import annotations

from pathlib import Path

from enginewright import canonical_json
from enginewright.checkpoint.config import read_config
from enginewright.memory.size_estimate import SizeRequest, estimate
from enginewright.step import ActionRequest, Result, main


def run(request: ActionRequest, outputs: Path) -> Result:
    size_request = SizeRequest.decode(request.parameters)
    config = request.file("config")
    config.verify()
    sizes = estimate(read_config(config.path), size_request)
    canonical_json.write(outputs / "size_estimate.json", sizes)
    return sizes


if __name__ == "__main__":
    main(run)
