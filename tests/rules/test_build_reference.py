"""The BUILD reference: what is in it, and that the committed one is current."""

from pathlib import Path

import pytest
from pants.build_graph.build_configuration import BuildConfiguration
from pants.util.strutil import strval
from pants_enginewright import register
from pants_enginewright.build_reference import COMMAND, Vocabulary, build_reference
from pants_enginewright.library_tests import register as library_tests
from pants_enginewright.models.targets import DtypeField
from pants_enginewright.products.aotinductor import register as aotinductor
from pants_enginewright.products.onnxruntime import register as onnxruntime
from pants_enginewright.products.tensorrt_rtx import register as tensorrt_rtx

COMMITTED = Path(__file__).parents[2] / "docs" / "build_reference.md"


@pytest.fixture(scope="module")
def text() -> str:
    builder = BuildConfiguration.Builder()
    for backend in (register, aotinductor, onnxruntime, tensorrt_rtx, library_tests):
        builder.register_target_types(backend.__name__, backend.target_types())
        builder.register_rules(backend.__name__, backend.rules())
    configuration = builder.create()
    return build_reference(Vocabulary.of(configuration.target_types, configuration.all_subsystems))


def test_the_committed_reference_is_current(text: str) -> None:
    assert COMMITTED.read_text(encoding="utf-8") == text, f"out of date: run `{COMMAND}`"


def test_every_target_type_has_a_section(text: str) -> None:
    for target_type in (
        *register.target_types(),
        *onnxruntime.target_types(),
        *tensorrt_rtx.target_types(),
    ):
        assert f"\n### `{target_type.alias}`\n" in text


def test_a_field_has_its_valid_values_default_and_meaning(text: str) -> None:
    assert (
        "| `dtype` | one of 'float32', 'float16', 'bfloat16' | `'float16'` | "
        "Type of the weights and of the arithmetic. |"
    ) in text
    assert "| `opset` | an integer of at least 18 and at most 23 | `23` |" in text
    models = "the address of an `onnx_model`, `onnx_file` or `quantized_model` target"
    assert f"| `model` | {models} | required |" in text


def test_help_of_a_field_has_its_valid_values() -> None:
    assert strval(DtypeField.help) == (
        "Type of the weights and of the arithmetic.\n\n"
        "Valid: one of 'float32', 'float16', 'bfloat16'."
    )


def test_a_file_field_names_its_extensions(text: str) -> None:
    assert "| `source` | the name of a file (.toml) | required |" in text


def test_options_and_goals_of_the_backend_and_no_others(text: str) -> None:
    assert "| `--enginewright-record` | `record` |" in text
    assert "### `./pants build-reference`" in text
    assert "library_test" not in text
    assert "### `[python]`" not in text
    assert "### `./pants lint`" not in text


def test_required_fields_come_first(text: str) -> None:
    section = text.split("### `tensorrt_rtx_engine`")[1].split("\n### ")[0]
    assert section.index("| `compute_capabilities` |") < section.index("| `profiles` |")
