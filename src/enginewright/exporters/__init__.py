"""Checkpoint to ONNX."""
