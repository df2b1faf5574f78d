"""Step: check a checkpoint, and write its normalised config and a descriptor.

Inputs: `config` (one file), `weights` (safetensors files, and at most one `*.index.json`),
`tokenizer` (any number, none too). Parameters: none. Outputs: `config.json`, `checkpoint.json`.
Reads the headers of the weights only, so it does not re-hash them: whoever reads the tensors does.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from enginewright import canonical_json
from enginewright.checkpoint.config import OtherConfig, parse_config
from enginewright.checkpoint.descriptor import describe
from enginewright.checkpoint.length_limit import length_limit
from enginewright.checkpoint.normalise import normalise
from enginewright.checkpoint.tokenizer import tokenizer_problems, vocabulary_warnings
from enginewright.checkpoint.verify import verify_weights
from enginewright.errors import InputError, raise_if_any
from enginewright.step import ActionRequest, Result, main


def run(request: ActionRequest, outputs: Path) -> Result:
    config_path = request.file("config").path
    tokenizer = [file.path for file in request.inputs.get("tokenizer", ())]
    problems = [problem for path in tokenizer for problem in tokenizer_problems(path)]
    weights = [file.path for file in request.files("weights")]
    try:
        document = canonical_json.read_object(config_path)
        config = parse_config(document, str(config_path))
        checkpoint = verify_weights(config, config_path, weights)
    except InputError as error:
        raise InputError([*error.problems, *problems]) from error
    raise_if_any(problems)
    warnings = list(checkpoint.warnings)
    if not isinstance(config, OtherConfig):
        for path in tokenizer:
            warnings.extend(vocabulary_warnings(path, config.vocab_size))
    length = length_limit(document)
    canonical_json.write(outputs / "config.json", normalise(document))
    canonical_json.write(outputs / "checkpoint.json", describe(config, checkpoint))
    return {
        "warnings": warnings,
        "summary": {
            "architecture": config.architecture,
            "dtype": checkpoint.dtype,
            "length": None if length is None else asdict(length),
            "model_type": config.model_type,
            "parameters": checkpoint.parameters,
            "tensors": len(checkpoint.tensors),
        },
    }


if __name__ == "__main__":
    main(run)
