"""Engines for ONNX Runtime: the ONNX model, optimized for one execution provider."""
