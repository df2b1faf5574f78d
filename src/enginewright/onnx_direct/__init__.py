"""Writes the ONNX graph of a dense decoder from its config and the layout of its weights."""
