"""What a step says when it cannot end well."""

from pathlib import Path

import pytest

from enginewright import canonical_json
from enginewright.step import ActionRequest, Result, run_step


@pytest.fixture
def request_path(tmp_path: Path) -> Path:
    path = tmp_path / "request.json"
    canonical_json.write(path, {"action": "check_graph", "inputs": {}, "parameters": {}})
    return path


def test_a_full_disk_is_no_defect(
    request_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def write_on_a_full_disk(_: ActionRequest, outputs: Path) -> Result:
        assert outputs.is_dir()
        Path("/dev/full").write_bytes(b"plan")
        return {}

    outputs = tmp_path / "outputs"
    assert run_step(write_on_a_full_disk, request_path, outputs) == 1
    text = capsys.readouterr().err
    assert text.startswith("a disk is full: the step could not write its outputs\n")
    assert "No space left on device" in text
    assert "Traceback" not in text
    assert list(outputs.iterdir()) == []


def test_any_other_error_of_the_system_is_a_defect(
    request_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def read_what_is_not_there(_: ActionRequest, outputs: Path) -> Result:
        return {"text": (outputs / "missing").read_text()}

    assert run_step(read_what_is_not_there, request_path, tmp_path / "outputs") == 70
    assert "FileNotFoundError" in capsys.readouterr().err
