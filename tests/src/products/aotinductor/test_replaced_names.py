"""The names of torch that a build without a GPU replaces."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from enginewright.errors import InputError
from enginewright.products.aotinductor import name_table, replaced_names


def test_every_name_is_there_and_takes_the_known_parameters():
    name_table.check_names(torch.__version__)


def test_another_torch_is_named_in_one_line():
    with pytest.raises(InputError, match="another version of torch") as caught:
        name_table.check_names("2.13.0+cpu")
    assert str(caught.value).count("\n") <= 4
    assert "torch 2.11.0" in str(caught.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": "gone"}, "no such name any more"),
        ({"parameters": ("device", "more")}, "takes other parameters"),
    ],
    ids=["gone", "other parameters"],
)
def test_a_name_that_changed_is_told(
    change: dict[str, object], words: str, monkeypatch: pytest.MonkeyPatch
):
    changed = dataclasses.replace(name_table.NAMES[0], **change)  # type: ignore[arg-type]
    monkeypatch.setattr(name_table, "NAMES", (changed, *name_table.NAMES[1:]))
    with pytest.raises(InputError, match=words):
        name_table.check_names(torch.__version__)


def test_what_was_replaced_is_put_back():
    import torch._inductor.cpp_builder as builder

    before = builder._get_optimization_cflags
    with replaced_names.replaced(None, replaced_names.Compilation({})):
        assert builder._get_optimization_cflags is not before
        flags, _ = builder._get_optimization_cflags("g++")
        assert "march=x86-64-v2" in flags
        assert "march=native" not in flags
    assert builder._get_optimization_cflags is before
