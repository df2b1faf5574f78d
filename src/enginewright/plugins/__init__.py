"""Operators of our own ONNX domain, each with its meaning as a model-local function."""
