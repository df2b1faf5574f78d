"""Step: check a checkpoint, and write what is read of it, in parts.

Inputs: `config` (one file), `weights` (safetensors files, and at most one `*.index.json`),
`tokenizer` (files that are shipped; any number, none too), `beside` (other files of the checkpoint
that say how it is used; may be missing). Parameters: none. Outputs: the parts of
`enginewright.checkpoint.description`. Reads the headers of the weights only, so it does not re-hash
them: whoever reads the tensors does.
"""

from __future__ import annotations

from pathlib import Path

from enginewright import canonical_json
from enginewright.checkpoint.description import describe_checkpoint
from enginewright.step import ActionRequest, Result, main


def run(request: ActionRequest, outputs: Path) -> Result:
    config = request.file("config").path
    weights = [file.path for file in request.files("weights")]
    files = {}
    for role in ("tokenizer", "beside"):
        for file in request.inputs.get(role, ()):
            files[_path_in_checkpoint(file.path, config.parent)] = file.path
    description = describe_checkpoint(config, weights, files)
    for name, part in description.parts().items():
        canonical_json.write(outputs / name, part)
    return {"warnings": description.warnings, "summary": description.summary()}


def _path_in_checkpoint(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else path.name


if __name__ == "__main__":
    main(run)
