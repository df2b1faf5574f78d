"""Checks of an ONNX graph that fail the build; one file a check."""
