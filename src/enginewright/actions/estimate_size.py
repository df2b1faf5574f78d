"""Step: sizes of weights, KV cache, activations and engine, before anything is built.

Inputs: `config` (config.json). Parameters: `dtype`; `task` and `logits` as for the export;
`quantization` (null or `{"method", "group_size", "keep"}`); `profiles` as for the engine, of which
the axes `batch`, `sequence` and `past_sequence` count. Output: `size_estimate.json`.
"""

from __future__ import annotations

from pathlib import Path

from enginewright import canonical_json
from enginewright.document import decode
from enginewright.memory.engine_memory import EngineMemoryRequest, engine_memory
from enginewright.step import ActionRequest, Result, main


def run(request: ActionRequest, outputs: Path) -> Result:
    size_request = decode(EngineMemoryRequest, request.parameters, "parameters")
    config = request.file("config")
    config.verify()
    document = canonical_json.read_object(config.path)
    sizes = engine_memory(document, str(config.path), size_request).to_json()
    canonical_json.write(outputs / "size_estimate.json", sizes)
    return sizes


if __name__ == "__main__":
    main(run)
