"""Checks of an ONNX model before a builder sees it."""
