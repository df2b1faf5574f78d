from pathlib import Path

import numpy as np
from safetensors.numpy import save_file
from step_process import run_module, write_request

from enginewright.actions import compare_weights


def compared(folder: Path) -> dict[str, object]:
    write_request(
        folder, "compare_weights", {"before": ["a.safetensors"], "after": ["b.safetensors"]}, {}
    )
    ran = run_module(folder, compare_weights.__name__)
    assert ran.code == 0, ran.errors
    return {name: ran.result[name] for name in ("tensors", "changed", "added", "removed")}


def test_names_what_differs(tmp_path: Path) -> None:
    same = np.arange(6, dtype=np.float32)
    before = {"kept": same, "moved": same, "shaped": same, "gone": same}
    after = {"kept": same, "moved": same + 1, "shaped": same.reshape(2, 3), "new": same}
    save_file(before, tmp_path / "a.safetensors")
    save_file(after, tmp_path / "b.safetensors")
    assert compared(tmp_path) == {
        "tensors": 4,
        "changed": ["moved", "shaped"],
        "added": ["new"],
        "removed": ["gone"],
    }


def test_a_changed_header_is_no_changed_tensor(tmp_path: Path) -> None:
    tensors = {"kept": np.ones(3, np.float32)}
    save_file(tensors, tmp_path / "a.safetensors")
    save_file(tensors, tmp_path / "b.safetensors", {"format": "pt"})
    assert compared(tmp_path)["changed"] == []
