"""Transformations of an ONNX model."""
