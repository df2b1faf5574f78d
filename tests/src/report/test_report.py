"""What a report says, read from its tables, and what it says is not there."""

from __future__ import annotations

import dataclasses
from html.parser import HTMLParser
from pathlib import Path

import pytest
from report_documents import make_files

from enginewright.cli import main
from enginewright.report.package import Report, make_report


class Tables(HTMLParser):
    """The texts of all rows of all tables, by the name of the table."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: dict[str, list[list[str]]] = {}
        self.name = ""
        self.cell: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if given.get("class") == "wide":
            self.name = given["aria-label"] or ""
        if tag == "tr":
            self.rows.setdefault(self.name, []).append([])
        if tag in ("td", "th"):
            self.cell = []

    def handle_data(self, data: str) -> None:
        if self.cell is not None:
            self.cell.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th") and self.cell is not None:
            self.rows[self.name][-1].append("".join(self.cell))
            self.cell = None


def tables(report: Report) -> dict[str, list[list[str]]]:
    parser = Tables()
    parser.feed(report.text)
    return parser.rows


def test_steps_are_those_of_the_package_and_its_sources(tmp_path: Path) -> None:
    assert tables(make_report(make_files(tmp_path)))["Steps"][1:] == [
        ["build_engine", "engines:qwen3_fp16", "ran here", "1.5 s", "1,234"],
        ["export_onnx", "models/qwen3:fp16", "local cache", "1.5 s", "1,234"],
    ]


def test_tensors_of_layers_are_counted(tmp_path: Path) -> None:
    report = make_report(make_files(tmp_path))
    assert tables(report)["Tensors of the model"][1:] == [
        ["layers.N.weight", "2", "[2, 3]", "F16", "12"],
        ["norm.weight", "1", "[3]", "F32", "3"],
    ]
    assert "15 parameters" in report.text


def test_memory_of_each_gpu(tmp_path: Path) -> None:
    report = make_report(make_files(tmp_path))
    rows = {row[0]: row[1:] for row in tables(report)["Part of each GPU"][1:]}
    # 30 GiB: of NVML's 15360 MiB CUDA has 98 %.
    assert rows["Tesla T4"] == [f"{15052 << 20:,}", "204.09%"]
    # One that it does not fit on is drawn as such.
    assert '<rect class="over"' in report.text


def test_each_bound_stands_beside_its_number(tmp_path: Path) -> None:
    report = make_report(make_files(tmp_path))
    found = tables(report)
    assert found["Bounds"][1:] == [
        ["pass", "mean_cosine_similarity", "0.5", ">=", "0.25", "run 1, rows"]
    ]
    assert found["Accuracy by length"] == [
        ["run", "tokens", "rows", "mean cosine", "perplexity of the reference", "perplexity"],
        ["rows", "17", "136", "0.5", "20.5", "21.25"],
        ["total", "-", "136", "0.5", "-", "-"],
    ]
    assert "NOT MEASURED: 1025 tokens and more" in report.text


def test_errors_of_quantized_tensors(tmp_path: Path) -> None:
    report = make_report(make_files(tmp_path))
    assert tables(report)["Quantized tensors"][1:] == [
        ["model.layers.0.self_attn.q.weight", "98,304", "27,648", "0.25", "quantized"],
        ["model.layers.0.self_attn.k.weight", "98,304", "98,304", "0", "a pattern"],
    ]
    assert "1 of 2 tensors are quantized" in report.text
    assert ">…layers.0.self_attn.q.weight</text>" in report.text


def test_only_what_differs_is_compared(tmp_path: Path) -> None:
    found = tables(make_report(make_files(tmp_path)))
    assert found["Differences"] == [
        ["what", "qwen3_fp16", "an older one"],
        ["file engine.plan", "a" * 64, "e" * 64],
    ]
    assert found["Steps of two records"][1] == [
        "build_engine engines:another",
        "ran here",
        "ran here",
        "other inputs",
    ]


def test_every_input_has_its_digest(tmp_path: Path) -> None:
    found = tables(make_report(make_files(tmp_path)))
    assert found["Inputs of the build"][1] == [
        "weights",
        "models/qwen3:checkpoint",
        "models/qwen3/model.safetensors",
        "7",
        "d" * 64,
    ]


def test_what_was_not_given_is_said(tmp_path: Path) -> None:
    request = make_files(tmp_path)
    bare = dataclasses.replace(request, record=None, accuracy=None, checkpoint=None)
    said = make_report(bare).text
    assert "made without the build record, the accuracy test, the checkpoint" in said
    assert "made without" not in make_report(request).text


def test_an_engine_without_an_estimate_says_so(tmp_path: Path) -> None:
    said = make_report(make_files(tmp_path, size_estimate=None)).text
    assert "The package has no estimate of its memory." in said


def test_names_are_texts_and_not_html(tmp_path: Path) -> None:
    report = make_report(make_files(tmp_path, warnings=["<script>x</script>"], task="<b>"))
    assert "<script>" not in report.text
    assert "&lt;script&gt;" in report.text
    assert "<b>" not in report.text


def test_reports_and_their_index(tmp_path: Path) -> None:
    request, out = make_files(tmp_path), tmp_path / "out"
    packages = [str(request.package), str(request.other)]
    assert main(["report", *packages, "-o", str(out)]) == 0
    assert sorted(path.name for path in out.iterdir()) == [
        "an older one.html",
        "index.html",
        "qwen3_fp16.html",
    ]
    index = (out / "index.html").read_text()
    assert '<a href="qwen3_fp16.html">qwen3_fp16</a>' in index
    assert '<a href="an%20older%20one.html">an older one</a>' in index


def test_what_is_of_one_package_is_refused_for_two(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    request = make_files(tmp_path)
    packages = [str(request.package), str(request.other)]
    accuracy = ["--accuracy", str(request.accuracy)]
    assert main(["report", *packages, *accuracy, "-o", str(tmp_path / "out")]) == 1
    assert "are of one package" in capsys.readouterr().err
