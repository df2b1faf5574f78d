"""Step: ask for the GPU of this host. No inputs, parameters or outputs.

Its result is `device`, None where there is none, and then the reason.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from enginewright.device.gpu import find_device
from enginewright.errors import InputError
from enginewright.step import ActionRequest, Result, main


def run(request: ActionRequest, outputs: Path) -> Result:  # noqa: ARG001
    try:
        return {"device": asdict(find_device()), "reason": ""}
    except InputError as error:
        return {"device": None, "reason": "; ".join(p.actual for p in error.problems)}


if __name__ == "__main__":
    main(run)
