"""How a step talks to whoever runs it.

A step is `python -m MODULE [REQUEST [OUTPUTS]]`, a module of the library; `request.json` and
`outputs` of the working directory if not said. The request names every input file by role, with
the promised digest; the step writes its files and `result.json` under the outputs folder, and
nothing else.

Exit codes: 0 done; 1 the user can fix it (the reasons are on standard error, no traceback); 70 a
defect of ours, with its traceback.
"""

from __future__ import annotations

import errno
import os
import shutil
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from enginewright import canonical_json, document
from enginewright.errors import InputError, Problem
from enginewright.hashing import FileDigest, verify
from enginewright.schema import INLINE
from enginewright.step_files import Untouched, write_digests

T = TypeVar("T")

EXIT_INPUT_ERROR = 1
EXIT_DEFECT = 70

_DISK_FULL = (errno.ENOSPC, errno.EDQUOT)


@dataclass(frozen=True)
class InputFile:
    path: Path
    """Relative to where the step runs; in `request.json` to the folder of that."""
    digest: FileDigest = field(metadata=INLINE)

    def verify(self) -> None:
        """Re-hash the file; raises `InputError` when it is not the promised one."""
        verify(self.path, self.digest)


@dataclass(frozen=True)
class ActionRequest:
    action: str
    """What it is called in messages and records."""
    inputs: Mapping[str, tuple[InputFile, ...]]
    """Files by role, in the order of the request."""
    parameters: Mapping[str, Any]

    @classmethod
    def read(cls, path: Path) -> ActionRequest:
        """Read a request, whose folder the inputs' paths begin in; raises `InputError`."""
        request = document.read(cls, path)
        inputs = {
            role: tuple(replace(file, path=path.parent / file.path) for file in files)
            for role, files in request.inputs.items()
        }
        return replace(request, inputs=inputs)

    def decode(self, kind: type[T]) -> T:
        """The parameters as a `kind`; raises `InputError` with everything that is wrong."""
        return document.decode(kind, self.parameters, "parameters")

    def files(self, role: str) -> tuple[InputFile, ...]:
        """The files of a role; raises `InputError` when the request has no such role."""
        if role not in self.inputs:
            roles = ", ".join(sorted(self.inputs)) or "none"
            raise InputError(Problem("request lacks an input", "request.json", role, roles))
        return self.inputs[role]

    def file(self, role: str) -> InputFile:
        """The one file of a role; raises `InputError` when there are none or several."""
        files = self.files(role)
        if len(files) != 1:
            raise InputError(
                Problem(f"input `{role}` must be one file", "request.json", "1", str(len(files)))
            )
        return files[0]

    def paths(self, role: str) -> dict[str, Path]:
        """The files of a role by their paths in the folder that holds them all."""
        paths = [file.path for file in self.files(role)]
        if not paths:
            return {}
        folder = os.path.commonpath([path.parent for path in paths]) or "."
        return {path.relative_to(folder).as_posix(): path for path in paths}


Result = Mapping[str, Any]
Step = Callable[[ActionRequest, Path], Result]
"""Does the work: takes the request and the outputs folder, returns what `result.json` says."""


def run_step(step: Step, request_path: Path, outputs: Path) -> int:
    """Run a step and return its exit code.

    `result.json`, and `digests.json` with the digest of every file that the step put out, appear
    only where it succeeded and left its inputs as they were.
    """
    try:
        request = ActionRequest.read(request_path)
        outputs.mkdir(parents=True, exist_ok=True)
        files = [file for group in request.inputs.values() for file in group]
        inputs = Untouched.before((file.path, file.digest) for file in files)
        result = step(request, outputs)
        inputs.raise_if_changed()
        canonical_json.write(outputs / "result.json", result)
        write_digests(outputs)
    except InputError as error:
        print(error, file=sys.stderr)
        return EXIT_INPUT_ERROR
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _DISK_FULL:
            print(_disk_full(error, outputs), file=sys.stderr)
            return EXIT_INPUT_ERROR
        traceback.print_exc()
        return EXIT_DEFECT
    return 0


def _disk_full(error: OSError, outputs: Path) -> Problem:
    folder = outputs.resolve()
    return Problem(
        "a disk is full: the step could not write its outputs",
        error.filename or str(folder),
        actual=f"{error.strerror}; {shutil.disk_usage(folder.parent).free} bytes free at {folder}",
        fix="free space there, or have sandboxes elsewhere: `--local-execution-root-dir=FOLDER`",
    )


def main(step: Step, arguments: Sequence[str] | None = None) -> None:
    """Entry point of an action module: `if __name__ == "__main__": main(run)`."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    request, outputs = [*given, *["request.json", "outputs"][len(given) :]]
    sys.exit(run_step(step, Path(request), Path(outputs)))
