"""Measure how close an ONNX model is to its PyTorch original, and judge the numbers."""
