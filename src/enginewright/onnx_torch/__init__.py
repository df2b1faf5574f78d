"""ONNX graphs exported from PyTorch models."""
