"""Levels that the plugin takes for the product's own, and so leaves out of a key."""

from __future__ import annotations

import tensorrt_rtx_bindings as trt


def test_what_the_builder_does_where_nothing_is_said() -> None:
    builder = trt.Builder(trt.Logger(trt.Logger.ERROR))
    config = builder.create_builder_config()
    assert config.builder_optimization_level == 3
    assert config.tiling_optimization_level == trt.TilingOptimizationLevel.NONE
